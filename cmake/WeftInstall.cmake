# cmake --install: headers, static libraries, the weft program, man pages, and a package that find_package(weft) finds.
# Parts that can be had alone (--component): program, examples. The latter are not installed unless asked for.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(weft_libraries GLOBAL PROPERTY WEFT_LIBRARIES)
install(TARGETS ${weft_libraries} EXPORT weftTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(layer base storage shuffle runtime schedulers engine)
  install(DIRECTORY ${layer} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft
          FILES_MATCHING PATTERN "*.hpp" PATTERN "engine/api" EXCLUDE PATTERN "engine/cli" EXCLUDE)
endforeach()
install(DIRECTORY engine/api/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(TARGET weft)
  install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
file(GLOB weft_man_pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/man/*.1")
install(FILES ${weft_man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

set(weft_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${weft_package_dir})
configure_package_config_file(cmake/weftConfig.cmake.in "${PROJECT_BINARY_DIR}/weftConfig.cmake" INSTALL_DESTINATION ${weft_package_dir})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/weftConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/weftConfig.cmake" "${PROJECT_BINARY_DIR}/weftConfigVersion.cmake" DESTINATION ${weft_package_dir})
