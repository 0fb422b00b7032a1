// The JSON that WebHDFS answers with. All of it comes from outside: what does not have the form is `corrupt`, and names `source`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "storage/access/remote.hpp"

namespace weft::storage::hdfs {

/// A file or directory.
struct HdfsStatus {
  std::string name{};  // in its directory; empty when it was asked for itself
  bool directory = false;
  std::uint64_t length = 0;
  std::uint64_t modified = 0;  // in milliseconds since 1970
  std::uint64_t id = 0;        // of the inode; 0 where HDFS does not give it
};

struct HdfsListing {
  std::vector<HdfsStatus> entries;
  bool more = false;  // behind the last
};

/// Why a request failed, in Hadoop's words.
struct RemoteException {
  std::string name;     // "FileNotFoundException"
  std::string message;  // its first line
};

Result<HdfsStatus> parse_status(std::string_view json, std::string_view source);
/// Of LISTSTATUS and of LISTSTATUS_BATCH.
Result<HdfsListing> parse_listing(std::string_view json, std::string_view source);
/// Hosts are sorted, each once: names, and addresses where HDFS gives them. The pieces are the first `length` bytes of the file, in
/// order; fewer are an error.
Result<std::vector<RemotePiece>> parse_blocks(std::string_view json, std::uint64_t length, std::string_view source);
/// {"boolean": true}
Result<bool> parse_flag(std::string_view json, std::string_view source);
/// {"Location": "http://…"}; empty when it is something else.
std::string parse_location(std::string_view json);
/// Nothing when it is something else: then the server is no WebHDFS.
std::optional<RemoteException> parse_exception(std::string_view json);

}  // namespace weft::storage::hdfs
