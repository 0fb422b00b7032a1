# cmake --install: headers, static libraries, the weft program, man pages, and a package that find_package(weft) finds.
# Parts that can be had alone (--component): program, pages, development, documents; and examples, services, which are not installed unless asked for.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(weft_libraries GLOBAL PROPERTY WEFT_LIBRARIES)
install(TARGETS ${weft_libraries} EXPORT weftTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(CODE "set(SOURCE \"${PROJECT_SOURCE_DIR}\")
set(STAGE \"${PROJECT_BINARY_DIR}/headers\")
set(DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
include(\"${PROJECT_SOURCE_DIR}/cmake/InstallHeaders.cmake\")" COMPONENT development)
if(TARGET weft_parquet_module) # not in the packages, which have no Arrow
  install(TARGETS weft_parquet_module LIBRARY DESTINATION lib/weft COMPONENT parquet)
endif()
if(TARGET weft)
  install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  # What the program says of its commands: a manual page each, and completion for shells.
  set(weft_pages "${PROJECT_BINARY_DIR}/pages")
  add_custom_command(
    OUTPUT "${weft_pages}/man/weft.1" "${weft_pages}/weft" "${weft_pages}/_weft" "${weft_pages}/weft.fish"
    COMMAND ${CMAKE_COMMAND} -E rm -rf "${weft_pages}"
    COMMAND weft manual "${weft_pages}/man"
    COMMAND weft completion bash > "${weft_pages}/weft"
    COMMAND weft completion zsh > "${weft_pages}/_weft"
    COMMAND weft completion fish > "${weft_pages}/weft.fish"
    DEPENDS weft COMMENT "Writing manual pages and completions" VERBATIM)
  add_custom_target(weft_pages ALL DEPENDS "${weft_pages}/man/weft.1")
  install(DIRECTORY "${weft_pages}/man/" DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT pages)
  install(FILES "${weft_pages}/weft" DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT pages)
  install(FILES "${weft_pages}/_weft" DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT pages)
  install(FILES "${weft_pages}/weft.fish" DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT pages)
endif()

set(weft_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${weft_package_dir} COMPONENT development)
configure_package_config_file(cmake/weftConfig.cmake.in "${PROJECT_BINARY_DIR}/weftConfig.cmake" INSTALL_DESTINATION ${weft_package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/weftConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/weftConfig.cmake" "${PROJECT_BINARY_DIR}/weftConfigVersion.cmake" DESTINATION ${weft_package_dir}
        COMPONENT development)

# What the packages hold besides: pages and examples to read and to build.
set(weft_documents ${CMAKE_INSTALL_DATADIR}/doc/weft)
install(DIRECTORY docs/ DESTINATION ${weft_documents} COMPONENT documents EXCLUDE_FROM_ALL PATTERN "docs/papers" EXCLUDE)
install(FILES README.md ARCHITECTURE.md LICENSE DESTINATION ${weft_documents} COMPONENT documents EXCLUDE_FROM_ALL)
install(DIRECTORY apps/ DESTINATION ${weft_documents}/examples/apps COMPONENT documents EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.cpp" PATTERN "*.md")
install(FILES packaging/weft-master.service packaging/weft-worker.service DESTINATION lib/systemd/system COMPONENT services EXCLUDE_FROM_ALL)
include(WeftPackage)
