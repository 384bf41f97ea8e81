# `cmake --install build/release` and a Debian package (tools/package).
#
# The binary generates its manual pages and completion during installation, so they are never out of
# date. Services are installed but not enabled.
include(GNUInstallDirs)
set(made ${PROJECT_BINARY_DIR}/packaging)

install(TARGETS orrery RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE "
  file(MAKE_DIRECTORY ${made}/man ${made}/bash ${made}/zsh ${made}/fish)
  set(orrery $<TARGET_FILE:orrery>)
  execute_process(COMMAND \${orrery} man ${made}/man COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
  execute_process(COMMAND \${orrery} completion bash OUTPUT_FILE ${made}/bash/orrery COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \${orrery} completion zsh OUTPUT_FILE ${made}/zsh/_orrery COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND \${orrery} completion fish OUTPUT_FILE ${made}/fish/orrery.fish COMMAND_ERROR_IS_FATAL ANY)
")
install(DIRECTORY ${made}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(DIRECTORY ${made}/bash/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(DIRECTORY ${made}/zsh/ DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(DIRECTORY ${made}/fish/ DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/systemd/ DESTINATION lib/systemd/system)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/prometheus/ DESTINATION share/orrery/prometheus)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME orrery)
set(CPACK_PACKAGE_CONTACT "The Orrery maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "working model of an AI data centre")
set(CPACK_PACKAGE_DESCRIPTION
    "Reviews the design of an AI data centre, runs it in simulated time, writes the files that build
it and runs the agents that operate it. Every figure says where it came from and how far off it may
be.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "slurm-client, prometheus, librados2")
include(CPack)
