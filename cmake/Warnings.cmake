# Flags of all targets. -ffp-contract=off keeps results equal between compilers and levels of
# optimisation: without it one compiler fuses a*b+c and another does not.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror
                    -ffp-contract=off)
# Options structs are filled by name and rely on their defaults; this is intended.
add_compile_options(-Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside libstdc++'s own std::string at -O2 (GCC bugs 105329 and 105651).
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-maybe-uninitialized)
else()
  # clang 19 reports libstdc++ 12's own std::stable_sort, which uses a function C++17 deprecated.
  add_compile_options(-Wno-deprecated-declarations)
endif()
if(ORRERY_SANITIZE)
  add_compile_options(-fsanitize=${ORRERY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ORRERY_SANITIZE})
endif()
