// The rules of the house as functions over source text, so that each can be shown to fail.
//
// They read text, not syntax: a few regular expressions over lines whose comments and literals have
// been blanked. That is enough for code formatted by clang-format, and it runs in milliseconds.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::tidy {

struct Source {
  std::string path;  // from the root of the repository, with '/'
  std::string text;
};

struct Complaint {
  std::string path;
  int line = 0;
  std::string what;
};
using Complaints = std::vector<Complaint>;

std::string to_text(const Complaints& complaints);

// Room -> the rooms it may include, besides itself and base.
using RoomTable = std::map<std::string, std::set<std::string>>;

// The table of rooms in ARCHITECTURE.md: the build must say the same.
RoomTable rooms_of_page(std::string_view page);
// The orrery_room(...) calls of src/CMakeLists.txt, with its set() and foreach() expanded: the
// rooms after the keyword `list`, ROOMS or TEST_ROOMS.
RoomTable rooms_of_build(std::string_view cmake_text, std::string_view list = "ROOMS");

// Comments, string and character literals replaced by blanks, lines kept.
std::string blanked(std::string_view code);

// The room of a path below src/, "" outside the rooms.
std::string room_of(std::string_view path);

// A source of the program or its speed figures: no test, fixture or test_*.h.
bool is_product(std::string_view path);

// `test_rooms` are the rooms that tests and fixtures of a room may include besides its own.
Complaints check_room_order(const Source& source, const RoomTable& rooms,
                            const RoomTable& test_rooms = {});
// A room's names stand in its own namespace, orrery::ROOM; base's, which every room speaks, in
// orrery.
Complaints check_room_namespace(const Source& source, const RoomTable& rooms);
Complaints check_file_size(const Source& source);
Complaints check_function_size(const Source& source);
// Headers that cost much to compile, or that speak to the outside, stay in the rooms that need
// them.
Complaints check_heavy_headers(const Source& source);
bool includes_heavy(const Source& source);
Complaints check_pure_room(const Source& source);
// exp, log, pow and their kin are called through base/math.h alone, by the product and its figures.
Complaints check_libm(const Source& source);
// Tables come in by way of Knowledge: only what loads it, the emitters, whose texts these are, and
// the live rooms read the files of the binary.
Complaints check_embedded(const Source& source);
// `for (x : f()->items)` and `for (x : f().value())` walk what is gone: g++ 12 ends the temporary
// before the first step, clang 19 after the last.
Complaints check_range_for(const Source& source);
// No position is computed from an address, `&x - v.data()`: it is wrong for a copy of x.
Complaints check_positions(const Source& source);
// The review, the run and what is made of them size no service and resolve no workload themselves.
Complaints check_one_resolver(const Source& source);
Complaints check_header_opening(const Source& source);
// A type of one name in two headers of one namespace: the linker takes either's members for both.
Complaints check_type_names(const std::vector<Source>& sources);
// An enumeration of one name, or of the same enumerators, in two headers of src/: what two rooms
// name stands once, below both.
Complaints check_enumerations(const std::vector<Source>& sources);
// Rooms whose enumerations have a table of words (base/words.h) spell none of them in a switch.
Complaints check_word_tables(const Source& source);
Complaints check_words(const Source& source);  // reminders, machine paths, banners

}  // namespace orrery::tidy
