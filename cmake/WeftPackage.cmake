# Debian packages, by cpack (scripts/package): weft, the program with its manual pages, completions and units of systemd; weft-dev, what job programs are
# built with, examples and documentation.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VENDOR weft)
set(CPACK_PACKAGE_CONTACT "weft <weft@localhost>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program pages services development documents)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_PROGRAM_GROUP weft)
set(CPACK_COMPONENT_PAGES_GROUP weft)
set(CPACK_COMPONENT_SERVICES_GROUP weft)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP weft-dev)
set(CPACK_COMPONENT_DOCUMENTS_GROUP weft-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)

set(CPACK_DEBIAN_WEFT_PACKAGE_NAME weft)
set(CPACK_DEBIAN_WEFT_PACKAGE_SECTION net)
set(CPACK_DEBIAN_WEFT_DESCRIPTION "Runs a standing cluster for dataflow programs written in C++, keeps files and
 tables on it, and compares schedulers in virtual time.")
set(CPACK_DEBIAN_WEFT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_WEFT_PACKAGE_DEPENDS "adduser, libssl3") # loaded by a process with a certificate
set(CPACK_DEBIAN_WEFT_PACKAGE_RECOMMENDS libcurl4) # s3:// only
set(CPACK_DEBIAN_WEFT_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/packaging/postinst;${PROJECT_SOURCE_DIR}/packaging/prerm")
set(CPACK_DEBIAN_WEFT_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# What the CMake package looks for, and the libraries that job programs link.
set(CPACK_DEBIAN_WEFT-DEV_PACKAGE_NAME weft-dev)
set(CPACK_DEBIAN_WEFT-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_WEFT-DEV_DESCRIPTION "Headers and libraries: what programs are built with that define jobs for weft: find_package(weft) in
 CMake. With the documentation and the sources of example programs.")
set(CPACK_DEBIAN_WEFT-DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_WEFT-DEV_PACKAGE_DEPENDS
    "weft (= ${PROJECT_VERSION}-1), g++, cmake, make, libbz2-dev, libcapnp-dev, libcli11-dev, libexpected-dev, libfmt-dev, libisal-dev, liblz4-dev, liblzma-dev, libpugixml-dev, libsimdjson-dev, libtomlplusplus-dev, libxxhash-dev, libzstd-dev, zlib1g-dev")
include(CPack)
