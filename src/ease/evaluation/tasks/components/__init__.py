"""Readers and evaluation protocols that tasks share; your own tasks may use them as well."""
