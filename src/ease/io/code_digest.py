"""Digest of the code that a function's result depends on, and the version of all code.

The digest of a function covers the top-level definitions that the function reaches by name, in any module of this
package. Comments, docstrings, formatting, messages, imports and the place of a definition do not count: a moved or
documented function keeps its digest.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import ease

ROOT = Path(ease.__file__).parent
Definition = tuple[str, str]
"""A module and the name of a definition in it."""

_ALL = "*"
"""In place of a name: all definitions of the module."""

_DATA = "**"
"""In place of a name: the files beside the package's modules, such as templates."""


class _Module(NamedTuple):
    definitions: dict[str, list[ast.stmt]]
    """Top-level statements by the names that they bind; statements that bind none have an empty name."""
    imports: dict[str, Definition]
    """Definitions in other modules of this package by their local names."""


def code_digest(*functions: Callable[..., Any]) -> str:
    """Return 16 hexadecimal digits that change with the meaning of the code and data files behind some functions."""
    waiting: list[Definition] = []
    for function in functions:
        while isinstance(function, partial):
            function = function.func
        function = inspect.unwrap(function)
        waiting.append((function.__module__, function.__qualname__.split(".")[0]))
    seen, found = set(waiting), set[str]()
    while waiting:
        digests, reached = _reach(*waiting.pop())
        found |= digests
        waiting += reached - seen
        seen |= reached
    return hashlib.sha256("".join(sorted(found)).encode()).hexdigest()[:16]


@cache
def _reach(module: str, name: str) -> tuple[frozenset[str], frozenset[Definition]]:
    """Return the digests of the statements behind a name, and the definitions that these statements use."""
    statements: list[ast.stmt] = []
    reached: set[Definition] = set()
    if _file_of(f"{module}.{name}"):
        reached = {(f"{module}.{name}", _ALL)}
    elif name == _DATA:
        return frozenset(_hash(file.read_bytes()) for file in _data_files(module)), frozenset()
    elif _file_of(module):
        code = _read(module)
        if name in code.imports:
            reached = {code.imports[name]}
        elif name == _ALL:
            statements = [statement for bound in code.definitions.values() for statement in bound]
            reached = set(code.imports.values())
        else:
            statements = [*code.definitions.get(name, ()), *code.definitions.get("", ())]
        reached |= {used for statement in statements for used in _used(statement, module, code)}
    digests = frozenset(_hash(repr(_meaning(statement)).encode()) for statement in statements)
    return digests, frozenset(reached)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _file_of(module: str) -> Path | None:
    """Return the source of a module of this package; None for other names."""
    package, *parts = module.split(".")
    place = ROOT.joinpath(*parts)
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((file for file in files if package == ease.__name__ and file.is_file()), None)


def _package_folder(module: str) -> Path | None:
    """Return the folder of a package; None for other modules."""
    file = _file_of(module)
    return file.parent if file and file.name == "__init__.py" else None


def _data_files(package: str) -> list[Path]:
    """Return the files beside a package's modules, without those of the packages inside it."""
    folder = _package_folder(package)
    return [
        path
        for path in sorted(folder.rglob("*") if folder else ())
        if path.is_file()
        and path.suffix != ".py"
        and path.parent.name != "__pycache__"
        and next(parent for parent in path.parents if (parent / "__init__.py").is_file()) == folder
    ]


@cache
def _read(module: str) -> _Module:
    file = _file_of(module)
    assert file is not None
    tree = ast.parse(file.read_text(encoding="utf-8"))
    definitions: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        if not _is_for_people(statement):
            for name in set(_bound(statement)) or {""}:
                definitions.setdefault(name, []).append(statement)
    return _Module(definitions, {name: meant for node in ast.walk(tree) for name, meant in _imported(node)})


def _bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif not isinstance(statement, ast.Expr):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _imported(node: ast.AST) -> Iterator[tuple[str, Definition]]:
    if isinstance(node, ast.ImportFrom) and node.module and _file_of(node.module):
        yield from ((alias.asname or alias.name, (node.module, alias.name)) for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from ((a.asname, (a.name, _ALL)) for a in node.names if a.asname and _file_of(a.name))


def _used(statement: ast.stmt, module: str, code: _Module) -> Iterator[Definition]:
    """Yield the definitions that a statement uses by name."""
    for node in ast.walk(statement):
        match node:
            case ast.Name(name) if name in code.imports:
                yield code.imports[name]
            case ast.Name(name) if name in code.definitions:
                yield module, name
            case ast.Name("__path__"):  # a registry of the modules in this package
                folder = _package_folder(module)
                for path in folder.glob("*.py") if folder else ():
                    if path.stem != "__init__":
                        yield f"{module}.{path.stem}", _ALL
            case ast.Name("__name__" | "__package__"):
                yield module, _DATA
            case ast.Constant(str(value)) if _names_a_module(
                value
            ):  # a program to run, or a package with files
                packaged = _package_folder(value) is not None
                yield from [(value, _DATA), (f"{value}.__main__", _ALL)] if packaged else [(value, _ALL)]


def _names_a_module(value: object) -> bool:
    return isinstance(value, str) and value.startswith(f"{ease.__name__}.") and _file_of(value) is not None


def _meaning(value: Any) -> Any:
    """Return a syntax tree as nested tuples, equal in all versions of Python, without docstrings, logs and messages."""
    if isinstance(value, ast.Raise) and isinstance(value.exc, ast.Call):
        return "raise", _meaning(value.exc.func)  # without the message
    if isinstance(value, ast.AST):
        fields = ((name, _meaning(field)) for name, field in ast.iter_fields(value) if name != "kind")
        return (type(value).__name__, *((name, field) for name, field in fields if field not in (None, ())))
    if isinstance(value, list):
        return tuple(_meaning(item) for item in value if not _is_for_people(item))
    return "a module" if _names_a_module(value) else repr(value)


def _is_for_people(node: object) -> bool:
    """Return whether code is a docstring, a description, a log call, or an import, which only locates names."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant()) | ast.keyword("description"):
            return True
        case ast.Expr(ast.Call(ast.Attribute(ast.Name("logger")))):
            return True
    return False


@cache
def code_version() -> str:
    """Return the package's version and a digest of its Python and YAML sources."""
    digest = hashlib.sha256()
    for source in sorted(file for ending in ("py", "yml") for file in ROOT.rglob(f"*.{ending}")):
        digest.update(source.read_bytes())
    return f"{ease.__version__}+{digest.hexdigest()[:12]}"
