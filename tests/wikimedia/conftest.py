"""Spark, for the tests of this folder."""

from tests.spark import spark_session as spark_session
