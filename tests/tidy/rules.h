// The project's rules as functions over source text, so that a test can show each of them failing.
//
// They read text, not syntax: a few regular expressions over lines whose comments and literals have
// been blanked. That is enough for code formatted by clang-format, and it takes milliseconds.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::tidy {

struct Source {
  std::string path;  // path from the root of the repository, with '/'
  std::string text;
};

struct Complaint {
  std::string path;
  int line = 0;
  std::string what;
};
using Complaints = std::vector<Complaint>;

std::string to_text(const Complaints& complaints);

// Room -> the rooms that it may include, besides itself and base.
using RoomTable = std::map<std::string, std::set<std::string>>;

// Returns the table of rooms in ARCHITECTURE.md, which the build must match.
RoomTable rooms_of_page(std::string_view page);
// Returns the orrery_room(...) calls of src/CMakeLists.txt, with its set() and foreach() expanded:
// the rooms after the keyword `list`, ROOMS or TEST_ROOMS.
RoomTable rooms_of_build(std::string_view cmake_text, std::string_view list = "ROOMS");

// Replaces comments, string and character literals by blanks and keeps the lines.
std::string blanked(std::string_view code);

// Returns the room of a path below src/, or "" outside the rooms.
std::string room_of(std::string_view path);

// Returns true for sources of the program and its speed figures: not tests, fixtures or test_*.h.
bool is_product(std::string_view path);

// `test_rooms` are the rooms that tests and fixtures of a room may include in addition.
Complaints check_room_order(const Source& source, const RoomTable& rooms,
                            const RoomTable& test_rooms = {});
// Names of a room are in its own namespace, orrery::ROOM; those of base, which every room uses, in
// orrery.
Complaints check_room_namespace(const Source& source, const RoomTable& rooms);
Complaints check_file_size(const Source& source);
Complaints check_function_size(const Source& source);
// Headers that are expensive to compile, or that access the outside, are used only in the rooms
// that need them.
Complaints check_heavy_headers(const Source& source);
bool includes_heavy(const Source& source);
Complaints check_pure_room(const Source& source);
// exp, log, pow and similar functions are called only through base/math.h, in the product and its
// speed figures.
Complaints check_libm(const Source& source);
// Tables are accessed through Knowledge. Only the code that loads it, the emitters, whose texts
// these are, and the live rooms read the embedded files.
Complaints check_embedded(const Source& source);
// `for (x : f()->items)` and `for (x : f().value())` iterate over a destroyed temporary: g++ 12
// destroys it before the first step, clang 19 after the last.
Complaints check_range_for(const Source& source);
// No index is computed from an address, `&x - v.data()`: it is wrong for a copy of x.
Complaints check_positions(const Source& source);
// The review, the run and what is made of them size no service and resolve no workload themselves.
Complaints check_one_resolver(const Source& source);
Complaints check_header_opening(const Source& source);
// Two types with the same name in two headers of one namespace: the linker may use either's members
// for both.
Complaints check_type_names(const std::vector<Source>& sources);
// Two enumerations with the same name, or the same enumerators, in two headers of src/: an
// enumeration that two rooms use is defined once, below both.
Complaints check_enumerations(const std::vector<Source>& sources);
// Rooms whose enumerations have a table of words (base/words.h) must not spell them in a switch.
Complaints check_word_tables(const Source& source);
Complaints check_words(const Source& source);  // reminders, machine paths, banners

}  // namespace orrery::tidy
