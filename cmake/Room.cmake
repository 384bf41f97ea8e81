# Precompiled headers (ORRERY_PCH) for the standard library and for tests shorten a build by a third or
# more, but hide a missing #include. So the presets of `./test` use them and the clang preset of
# `./test --full` does not. All rooms share one, all tests another.
#
# ORRERY_UNITY compiles sixteen files of a room at a time, which saves a quarter of a build (emit/: 36 s
# instead of 81). Therefore names in the unnamed namespaces of a room must be unique in the room. The
# clang preset compiles each file separately.
#
# Under the sanitizers clang compiles three times as fast at -O0 as at -O1, and the longest tests run
# ten times as long. So the rooms that do the arithmetic use -O1, and so does design/, which must refuse
# any hostile file within a second; the others use -O0.
set(ORRERY_QUICK_ROOMS base sim workload compute training serving fabric failure cluster search design
    design_text engines traffic)
# Rooms that wait for files, people or other programs gain nothing from -O2, which takes a third longer
# to compile than -O1. At -O0 they would be no quicker to build, and their copies of shared templates
# would slow down the rooms that calculate.
set(ORRERY_COLD_ROOMS cli server report emit calc score agent design_text)
set(ORRERY_UNITY_BATCH 16)
set(ORRERY_STD_HEADERS <algorithm> <expected> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <variant> <vector>)

function(orrery_precompile target kind)
  if(NOT ORRERY_PCH)
    return()
  endif()
  get_property(first GLOBAL PROPERTY ORRERY_PCH_${kind})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set(headers ${ORRERY_STD_HEADERS})
    if(kind STREQUAL "test")
      list(APPEND headers <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
    endif()
    target_precompile_headers(${target} PRIVATE ${headers})
    set_property(GLOBAL PROPERTY ORRERY_PCH_${kind} ${target})
  endif()
endfunction()

# Options of a test program. The line of a failing assertion matters more than speed, and -O0 halves
# the build time. ASan and UBSan watch the product that a test calls, not the test's own code, which
# compiles a third faster without them.
function(orrery_test_options target)
  target_compile_options(${target} PRIVATE -O0)
  if(ORRERY_SANITIZE MATCHES "address" AND NOT ORRERY_FUZZ)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
  endif()
endfunction()

# orrery_register(TARGET PREFIX [VARIABLE=value ...]): registers a test program with ctest. One process
# per test would spend most of its time on starting, so each program runs in a few parallel shards;
# ORRERY_EACH_TEST registers every test separately.
option(ORRERY_EACH_TEST "Register every test with ctest, not shards of test programs" OFF)
set(ORRERY_SHARDS 4)
# The slowest programs. They are started first, so that no core is idle at the end.
set(ORRERY_LONG_TESTS lifecycle_live_test recovery_live_test slurm_order_live_test store_loss_test
    store_power_test simulate_test cli twin score upkeep report lifecycle_drivers_test)
function(orrery_register target prefix)
  if(ORRERY_EACH_TEST)
    gtest_discover_tests(${target} TEST_PREFIX ${prefix}. DISCOVERY_MODE PRE_TEST
                         PROPERTIES ENVIRONMENT "${ARGN}")
    return()
  endif()
  math(EXPR last "${ORRERY_SHARDS} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${prefix}.${shard} COMMAND ${target} --gtest_brief=1)
    set_tests_properties(${prefix}.${shard} PROPERTIES ENVIRONMENT
      "GTEST_TOTAL_SHARDS=${ORRERY_SHARDS};GTEST_SHARD_INDEX=${shard};${ARGN}")
    if(prefix IN_LIST ORRERY_LONG_TESTS)
      set_tests_properties(${prefix}.${shard} PROPERTIES COST 100)
    endif()
  endforeach()
endfunction()

# orrery_room(WING/ROOM [NAME name] [ROOMS room ...] [TEST_ROOMS room ...] [LIBRARIES target ...]
#             [SOURCES generated.cpp ...])
#
# A room is a folder of a wing of src/. Its sources become the static library room_NAME and its
# *_test.cpp the executable NAME_test; a main.cpp belongs to a separate executable. ROOMS are the
# rooms whose headers it may include (base is always included); tests/tidy_test.cpp checks the
# includes against this list. TEST_ROOMS are rooms that only its tests and fixtures include. A room
# whose folder has the same name as another room's has a NAME.
function(orrery_room folder)
  cmake_parse_arguments(ROOM "" "NAME" "ROOMS;TEST_ROOMS;LIBRARIES;SOURCES" ${ARGN})
  get_filename_component(name ${folder} NAME)
  if(ROOM_NAME)
    set(name ${ROOM_NAME})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(APPEND sources ${ROOM_SOURCES})
  if(NOT sources)
    return()
  endif()

  list(TRANSFORM ROOM_ROOMS PREPEND room_)
  if(NOT name STREQUAL "base")
    list(PREPEND ROOM_ROOMS room_base)
  endif()

  set(present)
  foreach(room ${ROOM_ROOMS})
    if(TARGET ${room})
      list(APPEND present ${room})
    endif()
  endforeach()

  add_library(room_${name} STATIC ${sources})
  target_include_directories(room_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(room_${name} PUBLIC ${present} ${ROOM_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY ORRERY_ROOMS room_${name})
  if(ORRERY_SANITIZE AND name IN_LIST ORRERY_QUICK_ROOMS)
    target_compile_options(room_${name} PRIVATE -O1)
    orrery_precompile(room_${name} quick)
  elseif(CMAKE_BUILD_TYPE STREQUAL "Release" AND name IN_LIST ORRERY_COLD_ROOMS)
    target_compile_options(room_${name} PRIVATE -O1)
    orrery_precompile(room_${name} cold)
  else()
    orrery_precompile(room_${name} room)
  endif()
  if(ORRERY_UNITY)
    set_target_properties(room_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ORRERY_UNITY_BATCH})
    set_source_files_properties(${ROOM_SOURCES} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()

  if(ORRERY_TESTS AND ORRERY_UNIT_TESTS AND tests)
    add_executable(${name}_test ${tests})
    list(TRANSFORM ROOM_TEST_ROOMS PREPEND room_)
    target_link_libraries(${name}_test PRIVATE room_${name} ${ROOM_TEST_ROOMS} GTest::gmock_main)
    target_compile_definitions(${name}_test PRIVATE ORRERY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    orrery_test_options(${name}_test)
    orrery_precompile(${name}_test test)
    if(ORRERY_UNITY)
      set_target_properties(${name}_test PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ORRERY_UNITY_BATCH})
    endif()
    orrery_register(${name}_test ${name})
  endif()
endfunction()
