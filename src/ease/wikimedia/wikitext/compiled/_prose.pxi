# Gaps and blocks: the functions of `prose`.

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
        if n == 0 or line[n - 1] == ITEM:
            while i < size and _is_point(line[i]):
                i += 1
        if spaced and n and i < size:
            before, after = line[n - 1], line[i]
            if before not in "([（“«\x01" and after not in ",.)]）\x02" and (
                line[i - 1] == b" " or after not in ";:!?»”"
            ):
                line[n] = b" "
                n += 1
    return n


cdef inline bint _is_point(Py_UCS4 c) noexcept nogil:
    return c in ":; "


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
            if start < stop and text[start] == HEADING:
                if n:
                    out[n] = b"\n"
                    n += 1
                out[n] = b"="
                n += 1
                start += 1
                separator = 0
        while start < stop:
            i = start
            while i < stop and not _separates(text[i]):
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
    return c in " \t-\x06\x07"


cdef inline bint _separates(Py_UCS4 c) noexcept nogil:
    return c == ITEM or c == HEADING or _is_space(c)


cdef void _drop_marks(const Char* text, Size* first, Size* end) noexcept nogil:
    """Narrow the span of a line outside paragraphs to its content; the mark of a line that is no heading stays."""
    cdef Size start = first[0], stop = end[0], level = 0
    while start + 1 < stop and _separates(text[stop - 1]):
        stop -= 1
    if start < stop and text[start] == HEADING:
        while level < min(LOWEST_HEADING, (stop - start - 1) // 2) and (
            (level == 0 or text[start + level] == b"=") and text[stop - 1 - level] == b"="
        ):
            level += 1
        start, stop = start + level, stop - level
        while level and start < stop and _separates(text[start]):
            start += 1
    first[0], end[0] = start, stop
