# Everything comes from Debian packages (scripts/setup names them).
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)          # text formatting
find_package(tomlplusplus REQUIRED)   # configuration files
find_package(CLI11 REQUIRED)          # command lines
find_path(WEFT_ASIO_INCLUDE asio.hpp REQUIRED)          # sockets, timers (used by base/rpc only)
find_package(tl-expected REQUIRED)    # Result<T>
find_library(WEFT_LZ4_LIBRARY lz4 REQUIRED)             # compression of spills, transfers and files
find_library(WEFT_ISAL_LIBRARY isal REQUIRED)           # CRC32C
find_library(WEFT_XXHASH_LIBRARY xxhash REQUIRED)       # hashing
find_library(WEFT_ROCKSDB_LIBRARY rocksdb REQUIRED)       # indexes of chunks, the namespace, tables (never in job programs)
find_library(WEFT_ZLIB_LIBRARY z REQUIRED)              # compressed files, as are the next three
find_library(WEFT_ZSTD_LIBRARY zstd REQUIRED)
find_library(WEFT_BZIP2_LIBRARY bz2 REQUIRED)
find_library(WEFT_LZMA_LIBRARY lzma REQUIRED)
find_path(WEFT_OPENSSL_INCLUDE openssl/ssl.h REQUIRED)   # TLS (base/rpc/openssl.hpp loads the library when it is needed)
find_library(WEFT_CRYPTO_LIBRARY crypto REQUIRED)        # makes certificates (base/certificates, never in job programs)
find_library(WEFT_SSL_LIBRARY ssl REQUIRED)              # for tests, which attack by it
find_path(WEFT_CURL_INCLUDE curl/curl.h REQUIRED)       # S3 services and HDFS (storage/http/curl.hpp loads the library when it is needed)
find_library(WEFT_PUGIXML_LIBRARY libpugixml.a REQUIRED) # answers of S3 services (storage/objects/xml.cpp only)
find_library(WEFT_SIMDJSON_LIBRARY simdjson REQUIRED)   # JSON as input of jobs
set(WEFT_SIMDJSON "-Wl,--push-state,--as-needed" ${WEFT_SIMDJSON_LIBRARY} "-Wl,--pop-state") # programs that read none do not load it
find_library(WEFT_MICROHTTPD_LIBRARY microhttpd REQUIRED) # pages, REST and metrics of daemons (never in job programs)
find_library(WEFT_GNUTLS_LIBRARY gnutls REQUIRED)         # by which microhttpd encrypts (base/http only)
# Cap'n Proto: control messages, plans, journal records (serialisation only). Its own CMake package needs C and OpenSSL; the two libraries do.
find_program(WEFT_CAPNP_COMPILER capnp REQUIRED)
find_library(WEFT_CAPNP_LIBRARY capnp REQUIRED)
find_library(WEFT_KJ_LIBRARY kj REQUIRED)
find_package(benchmark QUIET) # Google Benchmark: the operator benchmarks, which are left out without it
