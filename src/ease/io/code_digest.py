"""Digest of the code that a function's result depends on.

The digest covers the top-level definitions that the function reaches by their names, wherever they lie. Comments,
docstrings, formatting, messages, imports and the place of a definition do not count: a moved or documented function
has the same digest.
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

_WHOLE = "*"
"""Instead of a name: every definition of the module."""

_DATA = "**"
"""Instead of a name: the files beside the package's modules, such as templates."""


class _Module(NamedTuple):
    definitions: dict[str, list[ast.stmt]]
    """Top-level statements by the names that they bind; those that bind none are at an empty name."""
    imports: dict[str, Definition]
    """What a local name means in another module of this package."""


def code_digest(*functions: Callable[..., Any]) -> str:
    """Return 16 hexadecimal digits that change when the meaning of code or data files behind the functions changes.

    Args:
        functions: Functions or classes of this package.
    """
    waiting = [_definition_of(function) for function in functions]
    seen, found = set(waiting), set[str]()
    while waiting:
        digests, reached = _reach(*waiting.pop())
        found |= digests
        waiting += reached - seen
        seen |= reached
    return hashlib.sha256("".join(sorted(found)).encode()).hexdigest()[:16]


def _definition_of(function: Callable[..., Any]) -> Definition:
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    return function.__module__, function.__qualname__.split(".")[0]


@cache
def _reach(module: str, name: str) -> tuple[frozenset[str], frozenset[Definition]]:
    """Digests of the statements behind a name, and the definitions that these statements use."""
    if _file_of(f"{module}.{name}"):
        return frozenset(), frozenset({(f"{module}.{name}", _WHOLE)})
    if _file_of(module) is None:
        return frozenset(), frozenset()
    if name == _DATA:
        return frozenset(_hash(file.read_bytes()) for file in _data_files(module)), frozenset()
    code = _read(module)
    if name in code.imports:
        return frozenset(), frozenset({code.imports[name]})
    if name == _WHOLE:
        statements = [statement for bound in code.definitions.values() for statement in bound]
        reached = set(code.imports.values())
    else:
        statements = [*code.definitions.get(name, ()), *code.definitions.get("", ())]
        reached = set()
    for statement in statements:
        reached |= set(_used(statement, module, code))
    return frozenset(_hash(repr(_meaning(statement)).encode()) for statement in statements), frozenset(
        reached
    )


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _file_of(module: str) -> Path | None:
    """The source of a module of this package; None for other names."""
    package, *parts = module.split(".")
    if package != ease.__name__:
        return None
    place = ROOT.joinpath(*parts)
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)


def _data_files(module: str) -> list[Path]:
    """Files beside a package's modules; those beside the modules of a package inside it belong to that one."""
    file = _file_of(module)
    if file is None or not _is_package(module):
        return []
    files = (path for path in sorted(file.parent.rglob("*")) if path.is_file() and path.suffix != ".py")
    own = (path for path in files if _package_of(path) == file.parent)
    return [path for path in own if path.parent.name != "__pycache__"]


def _package_of(path: Path) -> Path:
    return next(folder for folder in path.parents if (folder / "__init__.py").is_file())


def _is_package(module: str) -> bool:
    file = _file_of(module)
    return file is not None and file.name == "__init__.py"


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
    imports = {name: meant for node in ast.walk(tree) for name, meant in _imported(node)}
    return _Module(definitions, imports)


def _bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif not isinstance(statement, ast.Expr):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _imported(node: ast.AST) -> Iterator[tuple[str, Definition]]:
    if isinstance(node, ast.ImportFrom) and node.module and _file_of(node.module):
        for alias in node.names:
            yield alias.asname or alias.name, (node.module, alias.name)
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname and _file_of(alias.name):
                yield alias.asname, (alias.name, _WHOLE)


def _used(statement: ast.stmt, module: str, code: _Module) -> Iterator[Definition]:
    """What a statement uses by name."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            if node.id in code.imports:
                yield code.imports[node.id]
            elif node.id in code.definitions:
                yield module, node.id
            elif node.id == "__path__":  # modules that are found by the names of their files
                yield from ((f"{module}.{name}", _WHOLE) for name in _module_names(module))
            elif node.id in ("__name__", "__package__"):
                yield module, _DATA
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _names_a_module(node.value):
            yield from _named(node.value)


def _named(module: str) -> Iterator[Definition]:
    """What a module's name in a string may lead to: to a program, or to the files of a package."""
    if _is_package(module):
        yield module, _DATA
        yield f"{module}.__main__", _WHOLE
    else:
        yield module, _WHOLE


def _module_names(package: str) -> list[str]:
    file = _file_of(package)
    assert file is not None
    return [path.stem for path in file.parent.glob("*.py") if path != file]


def _names_a_module(text: str) -> bool:
    return text.startswith(f"{ease.__name__}.") and _file_of(text) is not None


def _meaning(value: Any) -> Any:
    """A syntax tree as nested tuples, the same in every version of Python, without what is there for people."""
    if isinstance(value, ast.Raise) and isinstance(value.exc, ast.Call):
        return "raise", _meaning(value.exc.func)  # without the message
    if isinstance(value, ast.AST):
        fields = ((name, _meaning(field)) for name, field in ast.iter_fields(value) if name != "kind")
        return (type(value).__name__, *((name, field) for name, field in fields if field not in (None, ())))
    if isinstance(value, list):
        return tuple(_meaning(item) for item in value if not _is_for_people(item))
    return "a module" if isinstance(value, str) and _names_a_module(value) else repr(value)


def _is_for_people(node: object) -> bool:
    """Whether code is a docstring, a description, a call of the log, or an import, which only says where names lie."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant()) | ast.keyword("description"):
            return True
        case ast.Expr(ast.Call(ast.Attribute(ast.Name("logger")))):
            return True
    return False
