"""A text as it looks: look-alikes as the ASCII character they pass for, invisible ones gone.

The tables are written out here rather than asked of `unicodedata`, whose answers change with the
version of Python: the same bytes must come out wherever a context is built. Sources: the
decompositions and default ignorables of the Unicode Character Database, and the confusables of UTS #39
(https://www.unicode.org/reports/tr39/), restricted to what the header of a context block is made of.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache

# Hexadecimal code points and ranges. The letters of `memory` with all their look-alikes, marks included.
_LOOKALIKES = {
    "e": "C8-CB E8-EB 112-11B 204-207 228-229 246-247 395 415 435 400-401 450-451 4BD 4BF 4D6-4D7 "
    "13AC 1D07 1D31 1D49 1E14-1E1D 1EB8-1EC7 2091 212E-2130 2147 22FF 2D39 A4F0 AB32 10286 118A6 "
    "118AE 1D6AC 1D6E6 1D720 1D75A 1D794",
    "m": "39C 3FA 41C 43C 4CD-4CE 13B7 15F0 16D6 1D0D 1D39 1D50 1D6F 1E3E-1E43 2098 20A5 2133 216F "
    "217F 271 2C6E 2C98 A4DF AB51 102B0 10311 118E3 1D6B3 1D6ED 1D727 1D761 1D79B",
    "o": "BA D2-D6 D8 F2-F6 F8 14C-151 19F-1A1 1D1-1D2 1EA-1ED 1FE-1FF 20C-20F 22A-231 254 275 398 "
    "38C 39F 3B8 3BF 3C3 3CC 3D1 3F4 41E 43E 472-473 4E6-4EB 555 585 6F5 966 9E6 A66 AE6 B20 B66 "
    "BE6 C02 C66 C82 CE6 D02 D20 D66 D82 E50 ED0 101D 1040 10FF 12D0 13BE 13EB 1D0F 1D11 1D3C 1D52 "
    "1E4C-1E53 1ECC-1EE3 1F40-1F4D 2070 2080 2092 2134 2296 229D 236C 24EA 25CB 25EF 2C9E-2C9F "
    "2D31 2D41 2D54 3007 A4F3 A74A-A74B AB3D-AB3E AB74 AB8E ABBB FF10 10292 102AB 10404 1042C "
    "104C2 104EA 10516 114D0 118B5 118C8 118D7 118E0 1CCF0 1D21A 1D6AF 1D6B6 1D6B9 1D6C9 1D6D0 "
    "1D6D4 1D6DD 1D6E9 1D6F0 1D6F3 1D703 1D70A 1D70E 1D717 1D723 1D72A 1D72D 1D73D 1D744 1D748 "
    "1D751 1D75D 1D764 1D767 1D777 1D77E 1D782 1D78B 1D797 1D79E 1D7A1 1D7B1 1D7B8 1D7BC 1D7C5 "
    "1D7CE 1D7D8 1D7E2 1D7EC 1D7F6 1F100-1F101 1F714 1FBF0",
    "r": "AE 154-159 1A6 210-213 24C-24D 27C-27D 280 2B3 403 413 433 453 490-493 13A1 13D2 1587 18F4 "
    "1D26 1D3F 1D63 1D72 1E58-1E5F 211B-211D 2C64 2C84-2C85 A4E3 A75A-A75B AB47-AB48 AB81 104B4 "
    "16F35 1D216 1F12C",
    "y": "A5 DD FD FF 176-178 1B3-1B4 232-233 24E-24F 263 28F 2B8 38E 3A5 3AB 3B3 3D2-3D4 40E 423 443 "
    "45E 4AE-4B1 4EE-4F3 10E7 13A9 13BD 1D8C 1E8E-1E8F 1E99 1EF2-1EF9 1EFE-1EFF 213D 2CA8 A4EC "
    "AB5A 102B2 118A4 118DC 16F43 1D6BC 1D6C4 1D6F6 1D6FE 1D730 1D738 1D76A 1D772 1D7A4 1D7AC",
    "[": "2045 27E6 2772 2983 298B 298D 298F 3010 3014 3016 301A FE39 FE3B FE47 FE5D FF3B",
    "]": "2046 27E7 2773 2984 298C 298E 2990 3011 3015 3017 301B FE3A FE3C FE48 FE5E FF3D",
    ":": "2D0 2F8 589 5C3 703-704 903 A83 16EC 1803 1809 205A 2236 A4FD A789 FE13 FE30 FE55 FF1A",
    "<": "2C2 1438 16B2 2039 226E 2329 276C 276E 2770 27E8 29FC 3008 FE3F FE64 FF1C 1D236",
    ">": "2C3 1433 203A 226F 232A 276D 276F 2771 27E9 29FD 3009 FE40 FE65 FF1E 16F3F 1D237",
    "/": "1735 2041 2044 2215 2571 27CB 29F6 29F8 2CC6 2F03 3033 31D3 FF0F 1D23A",
    "|": "1C0 2223 2502 2758 FE31 FF5C FFE8",
    "_": "2017 203F FE33-FE34 FE4D-FE4F FF3F",
    " ": "9 A0 115F-1160 1680 2000-200A 202F 205F 2800 3000 3164 FFA0",
    # Every character that some reader takes for the end of a line.
    "\n": "B-D 1C-1E 85 2028-2029",
}

# Where whole alphabets of other shapes (full-width, circled, mathematical, …) begin.
_ALPHABETS = (
    "41 FF21 FF41 24B6 24D0 249C 1F110 1F130 1F150 1F170 1F1E6 1CCD6 "
    "1D400 1D41A 1D434 1D44E 1D468 1D482 1D49C 1D4B6 1D4D0 1D4EA 1D504 1D51E 1D538 1D552 1D56C 1D586 "
    "1D5A0 1D5BA 1D5D4 1D5EE 1D608 1D622 1D63C 1D656 1D670 1D68A"
)

# Controls, combining marks and characters that leave no trace, in blocks: a letter of an Indic or
# Semitic script more does no harm here, since only the likeness to ASCII is asked for.
_INVISIBLE = (
    "0-8 E-1B 1F 7F-84 86-9F AD 300-36F 483-489 591-670 6D6-E4E EB1-FC6 102D-109D 135D-135F 1712-180F "
    "1885-18A9 1920-193B 1A17-1C37 1CD0-1CF9 1DC0-1DFF 200B-200F 202A-202E 2060-206F 20D0-20F0 "
    "2CEF-2CF1 2D7F 2DE0-2DFF 302A-302D 3099-309A A66F-A6F1 A802-A82C A8C4-AAF6 ABE5-ABED FB1E "
    "FE00-FE0F FE20-FE2F FEFF FFF0-FFFB 101FD 102E0 10376-1037A 10A01-11FFF 13430-13455 16AF0-16B36 "
    "16F4F-16FE4 1BC9D-1BCA3 1CF00-1CF46 1D167-1D1AD 1D242-1D244 1DA00-1DAAF 1E000-1E2EF 1E4EC-1E5EF "
    "1E8D0-1E94A E0000-E0FFF"
)


def _points(ranges: str) -> Iterator[int]:
    for part in ranges.split():
        first, _, last = part.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)


class _Table(dict[int, str | int | None]):
    """What each code point looks like. Filled as texts ask: all of it would be 20,000 entries."""

    def __init__(self) -> None:
        ranges = [part.partition("-") for part in _INVISIBLE.split()]
        self._firsts = [int(first, 16) for first, _, _ in ranges]
        self._lasts = [int(last or first, 16) for first, _, last in ranges]
        for start in _ALPHABETS.split():
            self.update((int(start, 16) + offset, ord("a") + offset) for offset in range(26))
        for plain, points in _LOOKALIKES.items():
            self.update(dict.fromkeys(_points(points), plain))

    def __missing__(self, point: int) -> int | None:
        place = bisect_right(self._firsts, point) - 1
        invisible = place >= 0 and point <= self._lasts[place]
        self[point] = seen = None if invisible else point
        return seen


_table = cache(_Table)


@cache
def lookalikes(*plain: str) -> re.Pattern[str]:
    """A pattern for one character that is, or passes for, one of `plain`."""
    points = (point for one in plain for point in _points(_LOOKALIKES[one]))
    return re.compile(f"[{re.escape(''.join(plain))}{''.join(map(chr, points))}]")


def unmask(text: str) -> str:
    """`text` as it looks: lower-case ASCII for whatever passes for it, LF for every kind of line end.

    Each character gives one or none; `positions` says which one came from where.
    """
    if text.isascii():
        return text.encode().translate(*_ascii_table()).decode()
    return text.translate(_table())


def positions(text: str) -> list[int]:
    """For each character of `unmask(text)` the index in `text` that it came from."""
    table = _table()
    return [index for index, char in enumerate(text) if table[ord(char)] is not None]


@cache
def _ascii_table() -> tuple[bytes, bytes]:
    """The same for bytes, ten times as fast: what becomes of each, and which are invisible."""
    seen = [chr(point).translate(_table()) for point in range(128)]
    shown = bytes(ord(char or " ") for char in seen) + bytes(128)
    return shown, bytes(point for point, char in enumerate(seen) if not char)
