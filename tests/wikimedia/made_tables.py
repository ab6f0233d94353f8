"""Synthetic SQL dumps of page_props in the form of MySQL and MariaDB."""

from __future__ import annotations

from pathlib import Path

from tests.wikimedia.made_dumps import PACK

CREATE = b"""-- MariaDB dump 10.19  Distrib 10.5.23-MariaDB, for debian-linux-gnu (x86_64)
--
-- Host: localhost    Database: enwiki
DROP TABLE IF EXISTS `page_props`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
CREATE TABLE `page_props` (
%s  PRIMARY KEY (`pp_page`,`pp_propname`),
  UNIQUE KEY `pp_propname_page` (`pp_propname`,`pp_page`)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
/*!40000 ALTER TABLE `page_props` DISABLE KEYS */;
"""
END = b"""/*!40000 ALTER TABLE `page_props` ENABLE KEYS */;

-- Dump completed on 2024-01-01  0:00:00
"""
COLUMNS = ("pp_page", "pp_propname", "pp_value", "pp_sortkey")


def item(page: int, qid: int) -> bytes:
    return b"(%d,'wikibase_item','Q%d',NULL)" % (page, qid)


def dump(*statements: bytes) -> bytes:
    declared = b"".join(b"  `%s` blob NOT NULL,\n" % column.encode() for column in COLUMNS)
    return CREATE % declared + b"".join(statements) + END


def insert(*rows: bytes) -> bytes:
    return b"INSERT INTO `page_props` VALUES " + b",".join(rows) + b";\n"


def write(folder: Path, content: bytes, name: str = "enwiki-20240101-page_props.sql") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PACK.get(path.suffix, bytes)(content))
    return path
