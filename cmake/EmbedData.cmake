# Everything under data/ goes into the binary as text, so that the core needs no file at run time.
# Rows that only tests and `score` read (data/validation) go in too: `orrery explain` shows them.
file(GLOB_RECURSE ORRERY_DATA CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/*)
add_executable(embed ${PROJECT_SOURCE_DIR}/tools/embed/embed.cpp)
set(ORRERY_EMBEDDED ${PROJECT_BINARY_DIR}/embedded_data.cpp)
add_custom_command(
  OUTPUT ${ORRERY_EMBEDDED}
  COMMAND embed ${PROJECT_SOURCE_DIR}/data ${ORRERY_EMBEDDED}
  DEPENDS embed ${ORRERY_DATA}
  COMMENT "Embedding data/")
