# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# distutils: language = c++
"""Compiled forms of functions of `markup`, `prose` and `spans`, with the same arguments and results.

A pass reads the characters of a text at their width (1, 2 or 4 bytes) and writes at most as many to a buffer.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_FromKindAndData, PyUnicode_KIND
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memmove
from libcpp.vector cimport vector

from ease.wikimedia.wikitext.titles import normalize_first

WIKIPEDIA_PARTS = 4
"""Version of the rows that this module computes; the package does not use it for another version."""

ctypedef fused Char:
    uint8_t
    uint16_t
    uint32_t

ctypedef Py_ssize_t Size

cdef enum:
    LINK_START = 1
    LINK_END = 2
    BREAK = 4
    GAP = 5
    ITEM = 6
    HEADING = 7
    LOWEST_HEADING = 6
    MAX_PLAIN_LENGTH = 63

ctypedef enum Pass:
    CUT_TEMPLATES
    STRIP_QUOTES
    NORMALIZE_GAPS
    JOIN_BLOCKS

cdef struct Span:
    Size start
    Size end


def cut_templates(str text):
    """See `markup.cut_templates`."""
    return _rewrite(CUT_TEMPLATES, "\n" + text)


def strip_quotes(str text):
    """See `markup.strip_quotes`."""
    return _rewrite(STRIP_QUOTES, text) if "''" in text else text


def normalize_gaps(str text):
    """See `prose.normalize_gaps`."""
    return _rewrite(NORMALIZE_GAPS, text) if "\x05" in text else text


def join_blocks(str text):
    """See `prose.join_blocks`."""
    return _rewrite(JOIN_BLOCKS, text)


cdef str _rewrite(Pass function, str text):
    cdef Size size = len(text)
    cdef int width = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef void* out = PyMem_Malloc(size * width + 1)
    if not out:
        raise MemoryError
    try:
        if width == 1:
            size = _apply(function, <const uint8_t*> data, size, <uint8_t*> out)
        elif width == 2:
            size = _apply(function, <const uint16_t*> data, size, <uint16_t*> out)
        else:
            size = _apply(function, <const uint32_t*> data, size, <uint32_t*> out)
        return PyUnicode_FromKindAndData(width, out, size)
    finally:
        PyMem_Free(out)


cdef Size _apply(Pass function, const Char* text, Size size, Char* out) noexcept nogil:
    """Write the result of a pass and return its size."""
    if function == CUT_TEMPLATES:
        return _cut_templates(text, size, out)
    if function == STRIP_QUOTES:
        return _strip_quotes(text, size, out)
    if function == NORMALIZE_GAPS:
        return _normalize_gaps(text, size, out)
    return _join_blocks(text, size, out)


cdef inline Size _copy(const Char* text, Size start, Size end, Char* out, Size size) noexcept nogil:
    """Append a span and return the new size; in place, the span moves to the left."""
    if end > start:
        memmove(out + size, text + start, (end - start) * sizeof(Char))
        size += end - start
    return size


cdef inline bint _is_space(Py_UCS4 c) noexcept nogil:
    """Whether `str.split` splits at a character."""
    if 0x20 < c < 0x85 or 0xA0 < c < 0x1680 or c > 0x3000:
        return False
    return c == 0x20 or 0x09 <= c <= 0x0D or 0x1C <= c <= 0x1F or 0x2000 <= c <= 0x200A or (
        c in "\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    )


include "_markup.pxi"
include "_prose.pxi"
include "_links.pxi"
