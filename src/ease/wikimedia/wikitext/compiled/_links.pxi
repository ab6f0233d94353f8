# Plain links and their sentences: the functions of `spans`.

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
            if c >= 0x80 or "a" <= c <= "z" or "A" <= c <= "Z" or c in "'-:":
                position = trail.match(text, i).end()
                n = _copy(data, i, position, out, n)
                i = position
            out[n] = LINK_END
            n += 1
        elif (c == "]" and following == "]") or c == HEADING:
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
