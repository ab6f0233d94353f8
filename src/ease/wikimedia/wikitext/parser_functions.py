"""Compute MediaWiki's parser functions `#expr` and `#time`, as far as their result depends on their arguments alone."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from ease.wikimedia.languages import Language
from ease.wikimedia.wikitext.dates import month_number
from ease.wikimedia.wikitext.template_arguments import find_locale

try:
    import icu
except ModuleNotFoundError:
    # Dates that a template computes are then unknown, so that their sentences have a hole.
    icu = None

# Characters of an expression, which also bounds its depth.
_LONGEST_EXPRESSION = 500
_EXPRESSION = re.compile(r"(?:[\d.\s+*/()|-])+")
_LEADING_ZEROS = re.compile(r"(?<![\d.])0+(?=\d)")
_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    # `round` is read as `|`, which binds less than sums in Python as well.
    ast.BitOr: lambda value, places: _round(value, int(places)),
}
# Decimal places that `round` accepts.
_MOST_PLACES = 12

_ISO_DATE = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)")
_WRITTEN_DATE = re.compile(r"(\d\d?)\.? (\w+) (\d{4})|(\w+) (\d\d?), (\d{4})")
# A code, a text in quotes, or a character.
_TIME_PART = re.compile(r'xg|"([^"]*)"|\\(.)|(.)', re.DOTALL)


def evaluate_expression(expression: str) -> str | None:
    """Return the result of `{{#expr: 2 * (3 + 4) / 5 round 1}}` as MediaWiki prints it; None for other expressions.

    Sums, differences, products, quotients, brackets and `round` are known.
    """
    source = expression.strip().lower().replace("−", "-").replace("round", "|")
    if len(source) > _LONGEST_EXPRESSION or not _EXPRESSION.fullmatch(source):
        return None
    try:
        tree = ast.parse(_LEADING_ZEROS.sub("", " ".join(source.split())), mode="eval")
        return _write_result(_compute(tree.body))
    except (SyntaxError, KeyError, ValueError, ArithmeticError, RecursionError):
        return None


def _compute(node: ast.expr) -> float:
    """Return the value of an expression; raises KeyError or ValueError for what `#expr` does not have."""
    if isinstance(node, ast.BinOp):
        return _OPERATIONS[type(node.op)](_compute(node.left), _compute(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        value = _compute(node.operand)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    raise ValueError(node)


def _round(value: float, places: int) -> float:
    """Round as PHP does, away from zero at a half."""
    if abs(places) > _MOST_PLACES:
        raise ValueError(places)
    unit = Decimal(1).scaleb(-places)
    # By the digits that are printed: the float 1.005 is a little less.
    return float(Decimal(repr(value)).quantize(unit, ROUND_HALF_UP))


def _write_result(result: float) -> str | None:
    if abs(result) >= 1e15:
        return None
    if result == int(result):
        return str(int(result))
    # PHP prints 14 digits.
    words = f"{result:.14g}"
    return None if "e" in words else words


def format_time(pattern: str, words: str, language: str) -> str | None:
    """Return `{{#time: j F Y | 1973-10-17}}` in a language; None for another date, or a code that is not known.

    The codes are those of days, months and years: `d`, `j`, `m`, `n`, `F`, `xg`, `l`, `Y`.
    """
    day = _read_date(words.strip())
    if icu is None or day is None or find_locale(language) is None:
        return None
    # ICU's names: Babel lacks those of months alone for languages in which they have one form.
    names = icu.DateFormatSymbols(Language(language).locale)
    alone = (icu.DateFormatSymbols.STANDALONE, icu.DateFormatSymbols.WIDE)
    within = (icu.DateFormatSymbols.FORMAT, icu.DateFormatSymbols.WIDE)
    codes = {
        "d": f"{day.day:02}",
        "j": str(day.day),
        "m": f"{day.month:02}",
        "n": str(day.month),
        "F": names.getMonths(*alone)[day.month - 1],
        # The genitive of Slavic languages: 17 октября.
        "xg": names.getMonths(*within)[day.month - 1],
        # ICU's first weekday, after an empty name, is Sunday.
        "l": names.getWeekdays(*alone)[day.isoweekday() % 7 + 1],
        "Y": str(day.year),
    }
    pieces: list[str] = []
    for part in _TIME_PART.finditer(pattern):
        quoted = part[1] if part[1] is not None else part[2]
        if quoted is not None:
            pieces.append(quoted)
        elif part[0] in codes:
            pieces.append(codes[part[0]])
        elif part[0].isascii() and part[0].isalpha():
            return None
        else:
            pieces.append(part[0])
    return "".join(pieces)


def _read_date(words: str) -> date | None:
    """Return a complete date of one of the forms that PHP reads: ISO 8601, or with an English month."""
    if match := _ISO_DATE.fullmatch(words):
        year, month, day = map(int, match.groups())
    elif match := _WRITTEN_DATE.fullmatch(words):
        number = month_number(match[2] or match[4], "en")
        if number is None:
            return None
        year, month, day = int(match[3] or match[6]), number, int(match[1] or match[5])
    else:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None
