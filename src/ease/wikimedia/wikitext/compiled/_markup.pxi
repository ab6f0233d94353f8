# Templates and quotes: the functions of `markup`.

cdef struct Cut:
    Size start
    Size end
    int mark


cdef Size _cut_templates(const Char* text, Size size, Char* out) noexcept nogil:
    cdef vector[Span] opened
    cdef vector[Cut] cuts
    cdef Cut cut
    cdef Size i = 0, end, start, count, matched, done = 0, n = 0
    cdef Char c, opening
    while i < size:
        c = text[i]
        end = i + 1
        # A single branch for all other characters is several times as fast as one for each comparison.
        if not ((c == b"\n") | (c == b"{") | (c == b"}") | (c == b"[") | (c == b"]")):
            pass
        elif c == b"\n":
            _mark_line(text, end, size, cuts)
        else:
            while end < size and text[end] == c:
                end += 1
            if end - i == 2 and end + 2 < size and c == b"{" and (
                text[end] == b"!" and text[end + 1] == b"}" and text[end + 2] == b"}"
            ):
                cuts.push_back(Cut(i, end + 3, b"|"))
                i = end = end + 3
            if end - i >= 2 and (c == b"{" or (c == b"[" and not opened.empty())):
                opened.push_back(Span(i, end))
            opening = b"{" if c == b"}" else b"["
            while end - i >= 2 and c != opening and not opened.empty() and text[opened.back().start] == opening:
                start, count = opened.back().start, opened.back().end - opened.back().start
                opened.pop_back()
                matched = min(3 if c == b"}" else 2, min(count, end - i))
                i += matched
                count -= matched
                if c == b"}":
                    while not cuts.empty() and cuts.back().start >= start + count:
                        cuts.pop_back()
                    cuts.push_back(Cut(start + count, i, GAP))
                if count >= 2:
                    opened.push_back(Span(start, start + count))
        i = end
    for cut in cuts:
        n = _copy(text, done, cut.start, out, n)
        out[n] = cut.mark
        n += 1
        done = cut.end
    return _copy(text, done, size, out, n)


cdef inline void _mark_line(const Char* text, Size start, Size size, vector[Cut]& cuts) noexcept nogil:
    """Replace the marks with which a line begins."""
    cdef Size end = start
    cdef Py_UCS4 c = text[start] if start < size else 0
    if c == "=":
        cuts.push_back(Cut(start, start + 1, HEADING))
    elif c == "-":
        while end < size and text[end] == b"-":
            end += 1
        if end - start >= 4:
            cuts.push_back(Cut(start, end, ITEM))
    elif _is_item_mark(c):
        while end < size and _is_item_mark(text[end]):
            end += 1
        cuts.push_back(Cut(start, end, ITEM))


cdef inline bint _is_item_mark(Py_UCS4 c) noexcept nogil:
    return c in "*#:;"


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
