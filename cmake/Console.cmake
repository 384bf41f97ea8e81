# The console (web/) and its contract go into the binary as files: ORRERY_CONSOLE are the generated
# sources. tools/build_console runs npm. If node is missing or too old, or its packages cannot be
# downloaded, it says so and produces no files, and the server shows its plain page.
set(ORRERY_WEB AUTO CACHE STRING "Build the console: AUTO (where node is), ON (or fail), OFF")
set_property(CACHE ORRERY_WEB PROPERTY STRINGS AUTO ON OFF)

file(GLOB_RECURSE console_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/src/*
     ${PROJECT_SOURCE_DIR}/web/public/*)
file(GLOB console_settings CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*.json
     ${PROJECT_SOURCE_DIR}/web/*.js ${PROJECT_SOURCE_DIR}/web/*.ts ${PROJECT_SOURCE_DIR}/web/*.html)
set(console_stage ${PROJECT_BINARY_DIR}/console)
set(console_files ${PROJECT_BINARY_DIR}/console_files.cpp)
add_custom_command(
  OUTPUT ${console_files}
  COMMAND ${PROJECT_SOURCE_DIR}/tools/build_console ${ORRERY_WEB} ${console_stage}
  COMMAND embed ${console_stage} ${console_files} server console_files
  DEPENDS embed ${PROJECT_SOURCE_DIR}/tools/build_console ${console_sources} ${console_settings}
  COMMENT "Building the console")

set(api_files ${PROJECT_BINARY_DIR}/api_files.cpp)
add_custom_command(
  OUTPUT ${api_files}
  COMMAND embed ${PROJECT_SOURCE_DIR}/docs/api ${api_files} server api_files
  DEPENDS embed ${PROJECT_SOURCE_DIR}/docs/api/openapi.yaml
  COMMENT "Embedding docs/api")

set(ORRERY_CONSOLE ${console_files} ${api_files})
