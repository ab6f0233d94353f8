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

WIKIPEDIA_PARTS = 3
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
    return _rewrite(CUT_TEMPLATES, text.replace("{{!}}", "|")) if "{{" in text else text


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


cdef Size _cut_templates(const Char* text, Size size, Char* out) noexcept nogil:
    cdef vector[Span] opened, cuts
    cdef Span cut
    cdef Size i = 0, end, start, count, matched, done = 0, n = 0
    cdef Char c
    while i < size:
        c = text[i]
        if c != b"{" and c != b"}":
            i += 1
            continue
        end = i + 1
        while end < size and text[end] == c:
            end += 1
        if c == b"{" and end - i >= 2:
            opened.push_back(Span(i, end))
        elif c == b"}":
            while end - i >= 2 and not opened.empty():
                start, count = opened.back().start, opened.back().end - opened.back().start
                opened.pop_back()
                matched = min(3, min(count, end - i))
                i += matched
                count -= matched
                while not cuts.empty() and cuts.back().start >= start + count:
                    cuts.pop_back()
                cuts.push_back(Span(start + count, i))
                if count >= 2:
                    opened.push_back(Span(start, start + count))
        i = end
    for cut in cuts:
        n = _copy(text, done, cut.start, out, n)
        out[n] = GAP
        n += 1
        done = cut.end
    return _copy(text, done, size, out, n)


cdef Size _strip_quotes(const Char* text, Size size, Char* out) noexcept nogil:
    cdef vector[Span] runs
    cdef Size i = 0, n = 0, line = 0, start
    while i <= size:
        if i == size or text[i] == b"\n":
            n = _strip_line_quotes(text, line, i, runs, out, n)
            n = _copy(text, i, min(i + 1, size), out, n)
            runs.clear()
            i += 1
            line = i
        elif text[i] == b"'":
            start = i
            while i < size and text[i] == b"'":
                i += 1
            if i - start >= 2:
                runs.push_back(Span(start, i))
        else:
            i += 1
    return _drop_breaks(out, n)


cdef inline Size _width(Span run) noexcept nogil:
    return 3 if run.end - run.start == 4 else min(run.end - run.start, 5)


cdef Size _strip_line_quotes(
    const Char* text, Size line, Size end, vector[Span]& runs, Char* out, Size n
) noexcept nogil:
    cdef Size bolds = 0, italics = 0, odd = -1, letter = -1, word = -1, space = -1, index, start, width
    for index in range(<Size> runs.size()):
        start, width = runs[index].start, _width(runs[index])
        bolds += width != 2
        italics += width != 3
        if width != 3:
            continue
        if start == line or text[start - 1] == b" ":
            space = index if space < 0 else space
        elif start == line + 1 or text[start - 2] == b" ":
            letter = index if letter < 0 else letter
        elif word < 0:
            word = index
    if bolds % 2 and italics % 2:
        odd = letter if letter >= 0 else word if word >= 0 else space
    for index in range(<Size> runs.size()):
        width = 2 if index == odd else _width(runs[index])
        # The apostrophes that MediaWiki shows are the first of a run.
        n = _copy(text, line, runs[index].end - width, out, n)
        out[n] = BREAK
        n += 1
        line = runs[index].end
    return _copy(text, line, end, out, n)


cdef Size _drop_breaks(Char* text, Size size) noexcept nogil:
    cdef Size i = 0, n = 0
    cdef Char c, last = 0, before = 0
    while i < size:
        c = text[i]
        i += 1
        if c == BREAK:
            while i < size and text[i] == BREAK:
                i += 1
        if c != BREAK or (last == b"]" and before == b"]") or (
            i + 1 < size and text[i] == b"[" and text[i + 1] == b"["
        ):
            text[n] = c
            n += 1
        before, last = last, c
    return n


cdef Size _normalize_gaps(const Char* text, Size size, Char* out) noexcept nogil:
    """Normalise the lines with gaps: no pattern contains a line break."""
    cdef Size done = 0, gap = 0, line, end, n = 0, length
    while True:
        while gap < size and text[gap] != GAP:
            gap += 1
        if gap == size:
            return _copy(text, done, size, out, n)
        line = end = gap
        while line > done and text[line - 1] != b"\n":
            line -= 1
        while end < size and text[end] != b"\n":
            end += 1
        n = _copy(text, done, line, out, n)
        length = _copy(text, line, end, out + n, 0)
        if _has_opening_gap(out + n, length):
            length = _drop_empty_brackets(out + n, length)
        n += _space_gaps(out + n, _drop_before_closing(out + n, length))
        done = gap = end


cdef bint _has_opening_gap(const Char* line, Size size) noexcept nogil:
    cdef Size i, end
    for i in range(size):
        if _is_opening(line[i]):
            end = i + 1
            while end < size and _is_joint(line[end]):
                end += 1
            if end < size and line[end] == GAP:
                return True
    return False


cdef inline bint _is_opening(Py_UCS4 c) noexcept nogil:
    return c in "([（"


cdef inline bint _is_joint(Py_UCS4 c) noexcept nogil:
    return c in " \t,;:،؛、，；：/–—-"


cdef Size _drop_empty_brackets(Char* line, Size size) noexcept nogil:
    cdef int turn
    for turn in range(2):
        size = _drop_after_opening(line, size)
        size = _drop_pairs(line, size, <Py_UCS4> "(", <Py_UCS4> ")")
        size = _drop_pairs(line, size, <Py_UCS4> "[", <Py_UCS4> "]")
        size = _drop_pairs(line, size, <Py_UCS4> "（", <Py_UCS4> "）")
    return size


cdef Size _drop_after_opening(Char* line, Size size) noexcept nogil:
    cdef Size i = 0, n = 0, end
    while i < size:
        line[n] = line[i]
        i += 1
        n += 1
        if _is_opening(line[n - 1]):
            end = i
            while end < size and _is_joint(line[end]):
                end += 1
            if end < size and line[end] == GAP:
                i = _end_of_gap(line, size, end)
                line[n] = GAP
                n += 1
    return n


cdef inline Size _end_of_gap(const Char* line, Size size, Size end) noexcept nogil:
    while end < size and (line[end] == GAP or _is_joint(line[end])):
        end += 1
    return end


cdef Size _drop_pairs(Char* line, Size size, Py_UCS4 opening, Py_UCS4 closing) noexcept nogil:
    cdef Size i = 0, n = 0
    while i < size:
        if i + 2 < size and line[i + 1] == GAP and <Py_UCS4> line[i] == opening and (
            <Py_UCS4> line[i + 2] == closing
        ):
            i += 2
            line[i] = GAP
        line[n] = line[i]
        i += 1
        n += 1
    return n


cdef Size _drop_before_closing(Char* line, Size size) noexcept nogil:
    cdef Size i = 0, n = 0, end
    cdef Py_UCS4 after
    while i < size:
        end = i + 1
        if line[i] == GAP:
            end = _end_of_gap(line, size, end)
            after = line[end] if end < size else 0
            if after in ")]）":
                while n and (line[n - 1] == GAP or _is_joint(line[n - 1])):
                    n -= 1
                i = end
        n = _copy(line, i, end, line, n)
        i = end
    return n


cdef Size _space_gaps(Char* line, Size size) noexcept nogil:
    cdef Size i = 0, n = 0
    cdef bint spaced
    cdef Py_UCS4 before, after
    while i < size:
        if line[i] != GAP:
            line[n] = line[i]
            n += 1
            i += 1
            continue
        spaced = n > 0 and line[n - 1] == b" "
        while n and line[n - 1] == b" ":
            n -= 1
        while i < size and (line[i] == GAP or line[i] == b" "):
            spaced = spaced or line[i] == b" "
            i += 1
        if spaced and n and i < size:
            before, after = line[n - 1], line[i]
            if before not in "([（“«\x01" and after not in ",.)]）\x02" and (
                line[i - 1] == b" " or after not in ";:!?»”"
            ):
                line[n] = b" "
                n += 1
    return n


cdef Size _join_blocks(const Char* text, Size size, Char* out) noexcept nogil:
    cdef Size line = 0, start, stop, i, n = 0
    cdef Char separator = b"\n"
    cdef bint in_paragraph = False
    while line <= size:
        start = stop = line
        while stop < size and text[stop] != b"\n":
            stop += 1
        line = stop + 1
        if start < stop and not _is_special(text[start]):
            separator = b" " if in_paragraph and separator != b"\n" else b"\n"
            in_paragraph = True
        else:
            separator = b"\n"
            in_paragraph = False
            _drop_marks(text, &start, &stop)
        while start < stop:
            i = start
            while i < stop and not _is_space(text[i]):
                i += 1
            if i > start:
                if separator and n:
                    out[n] = separator
                    n += 1
                n = _copy(text, start, i, out, n)
                separator = 0
            if i < stop and separator != b"\n":
                separator = b" "
            start = i + 1
    return n


cdef inline bint _is_special(Py_UCS4 c) noexcept nogil:
    return c in " \t*#:;=-"


cdef void _drop_marks(const Char* text, Size* first, Size* end) noexcept nogil:
    """Narrow the span of a line outside paragraphs to its content."""
    cdef Size start = first[0], stop = end[0], level = 0
    cdef Py_UCS4 mark = text[start] if start < stop else 0
    while start < stop and _is_space(text[start]):
        start += 1
    while start < stop and _is_space(text[stop - 1]):
        stop -= 1
    if mark == "=":
        while level < min(LOWEST_HEADING, (stop - start - 1) // 2) and (
            text[start + level] == b"=" and text[stop - 1 - level] == b"="
        ):
            level += 1
        start, stop = start + level, stop - level
    elif mark in "*#:;":
        while start < stop and _is_special(text[start]) and text[start] != b"=" and text[start] != b"-":
            start += 1
    else:
        while level < stop - start and text[start + level] == b"-":
            level += 1
        start += level if level >= 4 else 0
    first[0], end[0] = start, stop


cdef struct Plain:
    Size title_end  # 0: not a plain link
    Size label
    Size label_end
    bint is_latin


def skip_plain_links(str text, Size position, Size heading_end, list pieces, list targets, site, trail):
    """See `spans.skip_plain_links`."""
    cdef int width = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef Size size = len(text)
    cdef void* out = PyMem_Malloc((size - position) * width + 1)
    if not out:
        raise MemoryError
    try:
        if width == 1:
            return _skip_plain_links(
                <const uint8_t*> data, text, position, heading_end, pieces, targets, site, trail, <uint8_t*> out
            )
        if width == 2:
            return _skip_plain_links(
                <const uint16_t*> data, text, position, heading_end, pieces, targets, site, trail, <uint16_t*> out
            )
        return _skip_plain_links(
            <const uint32_t*> data, text, position, heading_end, pieces, targets, site, trail, <uint32_t*> out
        )
    finally:
        PyMem_Free(out)


cdef tuple _skip_plain_links(
    const Char* data, str text, Size position, Size heading_end, list pieces, list targets, site, trail, Char* out
):
    cdef Size size = len(text), i = position, n = 0
    cdef Py_UCS4 c, following
    cdef Plain link
    cdef bint capitals = site.case == "first-letter"
    while i < size:
        c, following = data[i], data[i + 1]  # a string ends with a zero
        if c == "[" and following == "[":
            if i < heading_end:
                break
            link = _read_plain(data, i + 2)
            if not link.title_end:
                break
            targets.append(_target(text, i + 2, link, data[i + 2], capitals, site))
            n = _copy(data, position, i, out, n)
            out[n] = LINK_START
            n = _copy(data, link.label, link.label_end, out, n + 1)
            i = position = link.label_end + 2
            c = data[i]
            # No other ASCII character begins a trail.
            if c >= 0x80 or "a" <= c <= "z" or "A" <= c <= "Z" or c in "'-":
                position = trail.match(text, i).end()
                n = _copy(data, i, position, out, n)
                i = position
            out[n] = LINK_END
            n += 1
        elif (c == "]" and following == "]") or (c == "\n" and following == "="):
            break
        else:
            i += 1
    if n:
        pieces.append(PyUnicode_FromKindAndData(sizeof(Char), out, n))
    return position, i


cdef inline str _target(str text, Size start, Plain link, Py_UCS4 first, bint capitals, site):
    if link.is_latin and ("A" <= first <= "Z" or "0" <= first <= "9"):
        return text[start : link.title_end]
    if link.is_latin and capitals and "a" <= first <= "z" and first != "i":  # Turkic languages have a dotted İ
        return chr(<int> first - 0x20) + text[start + 1 : link.title_end]
    return normalize_first(text[start : link.title_end], site)


cdef Plain _read_plain(const Char* text, Size title) noexcept nogil:
    """Read the target and the label of a plain link; the text ends with a zero."""
    cdef Plain link
    cdef Size i = title, after
    cdef Char bits = 0
    link.title_end = 0
    after = title
    while _is_plain(text[after]):
        i = after
        while _is_plain(text[i]):
            bits |= text[i]
            i += 1
        after = i + (text[i] == b".")
        after += text[after] == b" "
    link.is_latin = bits < 0x100
    link.label, link.label_end = title, i
    if text[i] == b"|":
        link.label = link.label_end = i + 1
        while text[link.label_end] and not _ends_label(text[link.label_end]):
            link.label_end += 1
        if _is_space(text[link.label]) or _is_space(text[link.label_end - 1]):
            return link
    if i > title and link.label < link.label_end and i - title <= MAX_PLAIN_LENGTH and (
        text[link.label_end] == b"]" and text[link.label_end + 1] == b"]"
    ):
        link.title_end = i
    return link


cdef inline bint _ends_label(Py_UCS4 c) noexcept nogil:
    return c in "[]\n\x04\x05"


cdef inline bint _is_plain(Py_UCS4 c) noexcept nogil:
    """Whether a title that contains the character may be plain (`titles.PLAIN_TITLE`)."""
    if c < 0x80:
        return c > 0x20 and c not in "#%&./:<>[]_{|}~\x7f"
    return c > 0xA0 and not (0x2000 <= c <= 0x200F or 0x2028 <= c <= 0x202F or c in "\u1680\u180e\u205f\u3000\ufffd")


def cut_sentences(str text, boundaries):
    """See `spans.cut_sentences`."""
    cdef list starts = [], sentences = []
    cdef Size begin = 0, start, stop, end
    for end in boundaries:
        start, stop = begin, end
        while start < stop and _is_space(text[start]):
            start += 1
        while start < stop and _is_space(text[stop - 1]):
            stop -= 1
        if start < stop:
            starts.append(start)
            sentences.append(text[start:stop])
        begin = end
    return starts, sentences


def sentences_of_links(list starts, list ends, list link_starts, list link_ends):
    """See `spans.sentences_of_links`."""
    cdef list firsts = [], lasts = []
    cdef Size first = 0, last, previous = 0, start, end, index, count = len(starts)
    for index in range(len(link_starts)):
        start, end = link_starts[index], link_ends[index]
        if start < previous:
            first = 0
        previous = start
        while first < count and <Size> ends[first] <= start:
            first += 1
        last = first
        while last < count and <Size> starts[last] < end:
            last += 1
        while last and <Size> starts[last - 1] >= end:
            last -= 1
        firsts.append(first)
        lasts.append(last - 1)
    return firsts, lasts
