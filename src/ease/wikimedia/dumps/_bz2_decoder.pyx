# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Compiled functions of `bz2_blocks`: the search for blocks, and a decoder that is faster than libbz2.

A block is a text in three codes: runs of bytes, the Burrows-Wheeler transform, and Huffman codes of moved-to-front
bytes (J. Tsai, "BZIP2: Format Specification", 2016). Reverting the transform means following a chain of up to 900,000
links through 3.6 MB, which exceeds the caches: a decoder that follows the chain from its start waits for every link.
This decoder follows eight parts of the chain at a time. The parts begin at places spread over the links, end where
another part begins, and are joined in the order of the chain.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memmove, memset

cdef enum:
    # Zeros after a block: between two checks of `Bits.last`, at most 50 symbols of 20 bits are read beyond the block.
    SPARE_BYTES = 512
    MAX_LENGTH = 900_000
    MAX_CODES = 6
    MAX_SELECTORS = 1 << 15  # a block states their number in 15 bits, and uses 18,002 at most
    MAX_SYMBOLS = 258
    GROUP_SYMBOLS = 50
    LONGEST_CODE = 20
    SHORT_BITS = 10  # the symbols of codes up to this length stand in a table
    RECENT = 8  # bytes of an order that fit in an integer
    RUN_SYMBOLS = 2  # the symbols 0 and 1 are digits of the length of a run
    LANES = 8  # pieces followed at a time
    MAX_PIECES = 512  # with more of them the lanes end closer together, with fewer there is less to join
    BEGINS_PIECE = 1 << 30  # in a link: a piece begins here, and the other bits are its number
    INVALID = -1
    MARKER_BITS = 48
    WINDOW = 7  # bytes that contain a marker starting at any bit of the first byte

cdef uint64_t BLOCK_MARKER = 0x314159265359
cdef uint64_t END_MARKER = 0x177245385090

cdef struct Bits:
    # Bits of a block that are not read yet: `held` has the next bits from its top, of which at least `count` are valid.
    const uint8_t* next
    const uint8_t* last  # upper bound of `next` while the block is intact: 8 bytes after its end
    uint64_t held
    int count

cdef struct Code:
    # A canonical Huffman code.
    uint16_t short_codes[1 << SHORT_BITS]  # symbol << 5 | length, by the next bits; 0 for longer and invalid codes
    uint32_t limits[LONGEST_CODE + 2]  # by length: the least value of the next 20 bits whose code is longer
    int32_t offsets[LONGEST_CODE + 2]  # by length: added to a code, its place in `symbols`
    uint16_t symbols[MAX_SYMBOLS]

cdef struct Order:
    # The bytes of the block by their last use: the latest ones, of which most symbols are, from the lowest bits on, so
    # that moving one of these to the front takes no branch; and the older ones.
    uint64_t recent
    uint8_t older[256 - RECENT]

cdef struct Piece:
    # A part of the text, found by following links from `link` to the beginning of another piece.
    uint32_t link
    uint32_t size
    uint32_t following
    uint8_t* text

cdef struct Block:
    uint32_t checksum
    uint32_t origin
    int distinct_bytes
    int code_count
    int selector_count
    uint32_t length
    uint32_t counts[256]  # how often each byte comes in the transformed text
    uint8_t byte_values[256]
    uint8_t selectors[MAX_SELECTORS]
    Code codes[MAX_CODES]
    uint8_t text[MAX_LENGTH + 8]  # the transformed text, then the text; a short run is written as eight bytes
    # The next place in the chain, times 256, and the byte on the way there; or BEGINS_PIECE and the number of a piece.
    uint32_t links[MAX_LENGTH]
    Piece pieces[MAX_PIECES]
    uint8_t lanes[LANES][MAX_LENGTH]  # texts of pieces, one after another

cdef bint MAY_END_MARKER[256]  # whether the byte before the last one with bits of a marker can have a value
cdef int shift
for shift in range(8):
    MAY_END_MARKER[BLOCK_MARKER << shift >> 8 & 255] = MAY_END_MARKER[END_MARKER << shift >> 8 & 255] = True


def find_markers(bytes content not None):
    """Return the first bit of each marker, and whether it ends a stream; ignores a marker truncated at either end."""
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(content)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(content), index, bit
    cdef uint64_t window = 0, candidate
    cdef int after
    markers = []
    for index in range(size):
        window = window << 8 | data[index]
        if not MAY_END_MARKER[window >> 8 & 255]:
            continue
        for after in range(8):
            candidate = window >> after & ((<uint64_t> 1 << MARKER_BITS) - 1)
            if candidate == BLOCK_MARKER or candidate == END_MARKER:
                bit = 8 * (index + 1) - after - MARKER_BITS
                if bit >= 0 and bit // 8 + WINDOW <= size:
                    markers.append((bit, candidate == END_MARKER))
    return markers


def decode_block(bytes content not None, Py_ssize_t start, Py_ssize_t end):
    """Return the decompressed block between two bits.

    The result is empty if the block is broken, does not end at `end`, has the old randomised form, or has a Huffman
    code with more symbols than fit, which libbz2 accepts.

    Raises:
        MemoryError: 13 MB of work space, or the result, cannot be allocated.
        ValueError: `start` and `end` are not in this order inside the content.
    """
    if not (0 <= start <= end and <uint64_t> end <= 8 * <uint64_t> PyBytes_GET_SIZE(content)):
        raise ValueError(f"no bits {start} to {end} in {len(content)} bytes")
    cdef bytes padded = content[start // 8 : (end + 7) // 8] + bytes(SPARE_BYTES)
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(padded)
    cdef int first_bit = start % 8
    cdef Py_ssize_t length = 0
    cdef uint8_t* target
    cdef bint intact
    cdef Block* block = take_block()
    try:
        with nogil:
            if read_block(block, data, first_bit, end - start):
                revert_transform(block)
                length = copy_runs(block, NULL)
        if length == 0:
            return b""
        decoded = PyBytes_FromStringAndSize(NULL, length)
        target = <uint8_t*> PyBytes_AS_STRING(decoded)
        with nogil:
            copy_runs(block, target)
            intact = checksum(target, length) == block.checksum
        return decoded if intact else b""
    finally:
        give_back(block)


# One block of work space stays allocated: the system clears new pages, which takes a tenth of the time. Only functions
# that hold the GIL use the variable.
cdef Block* spare_block = NULL


cdef Block* take_block() except NULL:
    global spare_block
    cdef Block* block = spare_block
    spare_block = NULL
    if block is NULL:
        block = <Block*> malloc(sizeof(Block))
        if block is NULL:
            raise MemoryError
    return block


cdef void give_back(Block* block) noexcept:
    global spare_block
    if spare_block is NULL:
        spare_block = block
    else:
        free(block)


cdef inline void fill(Bits* bits) noexcept nogil:
    """Hold at least 56 bits; bits beyond `count` may be in `held` already, with the same values."""
    cdef const uint8_t* p = bits.next
    cdef uint64_t ahead = (
        (<uint64_t> p[0] << 56) | (<uint64_t> p[1] << 48) | (<uint64_t> p[2] << 40) | (<uint64_t> p[3] << 32)
        | (<uint64_t> p[4] << 24) | (<uint64_t> p[5] << 16) | (<uint64_t> p[6] << 8) | <uint64_t> p[7]
    )
    bits.held |= ahead >> bits.count
    bits.next += (63 - bits.count) >> 3
    bits.count |= 56


cdef inline void skip(Bits* bits, int size) noexcept nogil:
    bits.held <<= size
    bits.count -= size


cdef inline uint64_t read(Bits* bits, int size) noexcept nogil:
    """Return the next 1 to 56 bits."""
    if bits.count < size:
        fill(bits)
    cdef uint64_t value = bits.held >> (64 - size)
    skip(bits, size)
    return value


cdef bint read_block(Block* block, const uint8_t* data, int first_bit, Py_ssize_t bit_count) noexcept nogil:
    """Read the transformed text; return whether the block is intact, apart from its checksum."""
    cdef uint64_t groups, group
    cdef int high, low
    cdef Bits bits = Bits(data, data + (first_bit + bit_count) // 8 + sizeof(uint64_t), 0, 0)
    fill(&bits)
    skip(&bits, first_bit)
    if read(&bits, MARKER_BITS) != BLOCK_MARKER:
        return False
    block.checksum = <uint32_t> read(&bits, 32)
    if read(&bits, 1):  # randomised
        return False
    block.origin = <uint32_t> read(&bits, 24)
    groups = read(&bits, 16)
    block.distinct_bytes = 0
    for high in range(16):
        if groups >> (15 - high) & 1:
            group = read(&bits, 16)
            for low in range(16):
                if group >> (15 - low) & 1:
                    block.byte_values[block.distinct_bytes] = <uint8_t> (16 * high + low)
                    block.distinct_bytes += 1
    if not (block.distinct_bytes and read_selectors(block, &bits) and read_codes(block, &bits)):
        return False
    if not read_symbols(block, &bits) or block.origin >= block.length:
        return False
    return 8 * (bits.next - data) - bits.count == first_bit + bit_count


cdef bint read_selectors(Block* block, Bits* bits) noexcept nogil:
    """Read the code of each group of symbols, stored as moved-to-front numbers."""
    cdef uint8_t order[MAX_CODES]
    cdef int selector, place
    cdef uint8_t code
    block.code_count = <int> read(bits, 3)
    block.selector_count = <int> read(bits, 15)
    if not 2 <= block.code_count <= MAX_CODES:
        return False
    for place in range(MAX_CODES):
        order[place] = <uint8_t> place
    for selector in range(block.selector_count):
        place = 0
        while read(bits, 1):
            place += 1
            if place == block.code_count:
                return False
        if bits.next > bits.last:
            return False
        code = order[place]
        memmove(order + 1, order, place)
        order[0] = code
        block.selectors[selector] = code
    return True


cdef bint read_codes(Block* block, Bits* bits) noexcept nogil:
    """Read the lengths of the Huffman codes, each as its difference from the one before."""
    cdef uint8_t lengths[MAX_SYMBOLS]
    cdef int index, symbol, length
    cdef int symbols = block.distinct_bytes + RUN_SYMBOLS
    for index in range(block.code_count):
        length = <int> read(bits, 5)
        for symbol in range(symbols):
            while 1 <= length <= LONGEST_CODE and read(bits, 1):
                length += -1 if read(bits, 1) else 1
            if not 1 <= length <= LONGEST_CODE:
                return False
            lengths[symbol] = <uint8_t> length
        if bits.next > bits.last or not make_code(&block.codes[index], lengths, symbols):
            return False
    return True


cdef bint make_code(Code* code, const uint8_t* lengths, int symbols) noexcept nogil:
    """Make the canonical code of some lengths; return False if a length has more codes than fit."""
    cdef uint32_t value = 0, spread, beginning
    cdef int length, symbol, index = 0
    memset(code.short_codes, 0, sizeof(code.short_codes))
    for length in range(1, LONGEST_CODE + 1):
        code.offsets[length] = index - <int32_t> value
        for symbol in range(symbols):
            if lengths[symbol] != length:
                continue
            if value >> length:
                return False
            code.symbols[index] = <uint16_t> symbol
            if length <= SHORT_BITS:
                beginning = value << (SHORT_BITS - length)
                for spread in range(1 << (SHORT_BITS - length)):
                    code.short_codes[beginning + spread] = <uint16_t> (symbol << 5 | length)
            index += 1
            value += 1
        code.limits[length] = value << (LONGEST_CODE - length)
        value <<= 1
    code.limits[LONGEST_CODE + 1] = <uint32_t> -1
    return True


cdef inline int read_symbol(Bits* bits, const Code* code) noexcept nogil:
    if bits.count < LONGEST_CODE:
        fill(bits)
    cdef int entry = code.short_codes[bits.held >> (64 - SHORT_BITS)]
    cdef int length = SHORT_BITS + 1
    cdef uint32_t value
    if entry:
        skip(bits, entry & 31)
        return entry >> 5
    value = <uint32_t> (bits.held >> (64 - LONGEST_CODE))
    while value >= code.limits[length]:
        length += 1
    if length > LONGEST_CODE:
        return INVALID
    skip(bits, length)
    return code.symbols[<int32_t> (value >> (LONGEST_CODE - length)) + code.offsets[length]]


cdef bint read_symbols(Block* block, Bits* block_bits) noexcept nogil:
    """Read the transformed text, and count its bytes."""
    cdef Bits bits = block_bits[0]  # a local copy, which the compiler may keep in registers
    cdef Order order
    cdef const Code* code
    cdef uint32_t length = 0, run = 0, weight = 1
    cdef int group, symbol, end_symbol = block.distinct_bytes + 1
    cdef uint8_t byte
    memset(block.counts, 0, sizeof(block.counts))
    begin_order(&order, block)
    for group in range(block.selector_count):
        if bits.next > bits.last:
            return False
        code = &block.codes[block.selectors[group]]
        for _ in range(GROUP_SYMBOLS):
            symbol = read_symbol(&bits, code)
            if symbol < RUN_SYMBOLS:  # digits of the length of a run, in base 2 with the digits 1 and 2
                if symbol == INVALID:
                    return False
                run += weight << symbol
                weight <<= 1
                if run > MAX_LENGTH - length:
                    return False
                continue
            if run:
                byte = <uint8_t> order.recent
                write_run(block.text + length, byte, run)
                block.counts[byte] += run
                length += run
                run = 0
                weight = 1
            if symbol == end_symbol:
                block.length = length
                block_bits[0] = bits
                return True
            if length == MAX_LENGTH:
                return False
            byte = move_to_front(&order, symbol - 1)
            block.text[length] = byte
            block.counts[byte] += 1
            length += 1
    return False


cdef inline void begin_order(Order* order, const Block* block) noexcept nogil:
    cdef uint8_t values[256]
    cdef int place
    memset(values, 0, sizeof(values))
    memcpy(values, block.byte_values, block.distinct_bytes)
    memcpy(order.older, values + RECENT, sizeof(order.older))
    order.recent = 0
    for place in range(RECENT):
        order.recent |= <uint64_t> values[place] << 8 * place


cdef inline uint8_t move_to_front(Order* order, int place) noexcept nogil:
    """Return the byte at a place of the order, which becomes the first one."""
    cdef uint8_t byte
    cdef uint64_t moved
    if place < RECENT:
        byte = <uint8_t> (order.recent >> 8 * place)
        moved = (<uint64_t> 2 << (8 * place + 7)) - 1  # the bits of all bytes up to this one
        order.recent = (order.recent & ~moved) | (order.recent << 8 & moved) | byte
        return byte
    byte = order.older[place - RECENT]
    memmove(order.older + 1, order.older, place - RECENT)
    order.older[0] = <uint8_t> (order.recent >> 56)
    order.recent = order.recent << 8 | byte
    return byte


cdef inline void write_run(uint8_t* target, uint8_t byte, uint32_t size) noexcept nogil:
    """Write a byte so often, and up to eight bytes beyond, which the next ones replace: most runs are short."""
    cdef uint64_t ones = 0x0101010101010101, eight = ones * byte
    memcpy(target, &eight, sizeof(eight))
    if size > sizeof(eight):
        memset(target + sizeof(eight), byte, size - sizeof(eight))


cdef void revert_transform(Block* block) noexcept nogil:
    """Replace the transformed text by the text."""
    cdef uint32_t place[256]
    cdef uint32_t index, total = 0, pieces = 0, length = 0, size
    cdef uint32_t step = max(block.length // (MAX_PIECES - 1), 1)
    cdef uint8_t byte
    for index in range(256):
        place[index] = total
        total += block.counts[index]
    for index in range(block.length):
        byte = block.text[index]
        block.links[place[byte]] = index << 8 | byte
        place[byte] += 1
    mark_piece(block, block.origin, &pieces)  # the text's own beginning
    index = 0
    while index < block.length and pieces < MAX_PIECES:
        mark_piece(block, index, &pieces)
        index += step
    follow_links(block, pieces)
    cdef Piece* piece = &block.pieces[0]
    while length < block.length:  # a periodic text goes around its pieces several times
        size = min(piece.size, block.length - length)
        memcpy(block.text + length, piece.text, size)
        length += size
        piece = &block.pieces[piece.following]


cdef inline void mark_piece(Block* block, uint32_t place, uint32_t* pieces) noexcept nogil:
    if not block.links[place] & BEGINS_PIECE:
        block.pieces[pieces[0]].link = block.links[place]
        block.links[place] = BEGINS_PIECE | pieces[0]
        pieces[0] += 1


cdef void follow_links(Block* block, uint32_t pieces) noexcept nogil:
    """Write the text of each piece, in eight lanes as long as there are more pieces to begin.

    The links are a permutation: each byte is written once, so no lane has more than a block.
    """
    cdef const uint32_t* links = block.links
    cdef Piece* piece[LANES]
    cdef uint32_t link[LANES]
    cdef uint8_t* end[LANES]
    cdef uint32_t begun = min(<uint32_t> LANES, pieces), steps
    cdef uint32_t any_link  # all lanes' links or-ed: whether one of them begins a piece
    cdef int lane
    for lane in range(<int> begun):
        piece[lane] = &block.pieces[lane]
        piece[lane].text = end[lane] = block.lanes[lane]
        link[lane] = piece[lane].link
    while begun < pieces:
        steps = 0
        any_link = 0
        while not any_link & BEGINS_PIECE:
            any_link = 0
            for lane in range(LANES):
                end[lane][steps] = <uint8_t> link[lane]
                link[lane] = links[link[lane] >> 8]
                any_link |= link[lane]
            steps += 1
        for lane in range(LANES):
            end[lane] += steps
            if link[lane] & BEGINS_PIECE and begun < pieces:
                end_piece(piece[lane], end[lane], link[lane])
                piece[lane] = &block.pieces[begun]
                piece[lane].text = end[lane]
                link[lane] = piece[lane].link
                begun += 1
    for lane in range(<int> min(<uint32_t> LANES, pieces)):
        while not link[lane] & BEGINS_PIECE:
            end[lane][0] = <uint8_t> link[lane]
            end[lane] += 1
            link[lane] = links[link[lane] >> 8]
        end_piece(piece[lane], end[lane], link[lane])


cdef inline void end_piece(Piece* piece, uint8_t* end, uint32_t link) noexcept nogil:
    piece.size = <uint32_t> (end - piece.text)
    piece.following = link & ~<uint32_t> BEGINS_PIECE


cdef Py_ssize_t copy_runs(Block* block, uint8_t* target) noexcept nogil:
    """Write the content, in which a run is four equal bytes and the number of further bytes; return its length.

    Without a target, only measure. The length is 0 if a number is missing: broken for libbz2, too.
    """
    cdef const uint8_t* text = block.text
    cdef Py_ssize_t place = 0, total = 0, run, size
    cdef uint8_t further
    while place < block.length:
        run = next_run(text, place, block.length)
        if run + 4 == block.length:
            return 0
        further = text[run + 4] if run < block.length else 0
        size = min(run + 4, block.length) - place
        if target is not NULL:
            memcpy(target + total, text + place, size)
            memset(target + total + size, text[run], further)
        total += size + further
        place = run + 5
    return total


cdef Py_ssize_t next_run(const uint8_t* text, Py_ssize_t place, Py_ssize_t length) noexcept nogil:
    """Return where the next four equal bytes begin; `length` if there are none."""
    cdef uint64_t first, second, third, different
    cdef uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080
    while place + 4 <= length:
        if place + 10 <= length:  # eight places at once: most have no three equal bytes
            memcpy(&first, text + place, 8)
            memcpy(&second, text + place + 1, 8)
            memcpy(&third, text + place + 2, 8)
            different = (first ^ second) | (second ^ third)
            if not (different - ones) & ~different & tops:
                place += 8
                continue
        if text[place] == text[place + 1] == text[place + 2] == text[place + 3]:
            return place
        place += 1
    return length


# CRC-32 with the highest bit first: the checksum of a byte before 0 to 7 zero bytes.
cdef uint32_t CHECKSUMS[8][256]
cdef uint32_t byte_value, value
cdef int zeros
for byte_value in range(256):
    value = byte_value << 24
    for _ in range(8):
        value = (value << 1) ^ (0x04C11DB7 if value >> 31 else 0)
    CHECKSUMS[0][byte_value] = value
for byte_value in range(256):
    for zeros in range(1, 8):
        value = CHECKSUMS[zeros - 1][byte_value]
        CHECKSUMS[zeros][byte_value] = (value << 8) ^ CHECKSUMS[0][value >> 24]


cdef uint32_t checksum(const uint8_t* text, Py_ssize_t length) noexcept nogil:
    cdef uint32_t value = <uint32_t> -1
    cdef Py_ssize_t place = 0
    while place + 8 <= length:
        value ^= (
            (<uint32_t> text[place] << 24) | (<uint32_t> text[place + 1] << 16)
            | (<uint32_t> text[place + 2] << 8) | text[place + 3]
        )
        value = (
            CHECKSUMS[7][value >> 24] ^ CHECKSUMS[6][value >> 16 & 255]
            ^ CHECKSUMS[5][value >> 8 & 255] ^ CHECKSUMS[4][value & 255]
            ^ CHECKSUMS[3][text[place + 4]] ^ CHECKSUMS[2][text[place + 5]]
            ^ CHECKSUMS[1][text[place + 6]] ^ CHECKSUMS[0][text[place + 7]]
        )
        place += 8
    while place < length:
        value = (value << 8) ^ CHECKSUMS[0][(value >> 24) ^ text[place]]
        place += 1
    return ~value
