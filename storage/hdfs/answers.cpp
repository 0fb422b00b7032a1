#include "storage/hdfs/answers.hpp"

#include <algorithm>

#include "base/json_reader.hpp"
#include "base/text.hpp"

namespace weft::storage::hdfs {
namespace {

constexpr std::size_t kMostHosts = 64;  // of one block

Result<std::uint64_t> count(JsonReader& json) {
  WEFT_ASSIGN(const std::int64_t number, json.integer());
  if (number < 0) return fail(json.error("a number is negative"));
  return static_cast<std::uint64_t>(number);
}

Result<HdfsStatus> one_status(JsonReader& json) {
  HdfsStatus status;
  std::string type;
  WEFT_TRY(json.object([&](std::string_view key) -> Result<void> {
    if (key == "pathSuffix") {
      WEFT_ASSIGN(status.name, json.text());
    } else if (key == "type") {
      WEFT_ASSIGN(type, json.text());
    } else if (key == "length") {
      WEFT_ASSIGN(status.length, count(json));
    } else if (key == "modificationTime") {
      WEFT_ASSIGN(status.modified, count(json));
    } else if (key == "fileId") {
      WEFT_ASSIGN(status.id, count(json));
    } else {
      return json.skip();
    }
    return {};
  }));
  if (type.empty()) return fail(json.error("a status has no type"));
  if (status.name.find('/') != std::string::npos || status.name == "." || status.name == "..")
    return fail(json.error("a name in a directory is no name"));
  status.directory = type == "DIRECTORY";
  return status;
}

/// Reads the member `key` of an object, and of objects in it called `path[0]`, `path[1]`, …
template <class Read>
Result<void> member(JsonReader& json, std::string_view wanted, Read&& read) {
  bool found = false;
  WEFT_TRY(json.object([&](std::string_view key) -> Result<void> {
    if (key != wanted || found) return json.skip();
    found = true;
    return read();
  }));
  if (!found) return fail(json.error("there is no " + std::string(wanted)));
  return {};
}

Result<void> statuses(JsonReader& json, std::vector<HdfsStatus>& into) {
  return member(json, "FileStatus", [&] {
    return json.array([&]() -> Result<void> {
      WEFT_ASSIGN(HdfsStatus status, one_status(json));
      if (!status.name.empty()) into.push_back(std::move(status));  // else a file was listed
      return {};
    });
  });
}

Result<void> texts(JsonReader& json, bool addresses, std::vector<std::string>& into) {
  return json.array([&]() -> Result<void> {
    WEFT_ASSIGN(std::string text, json.text());
    if (addresses) text.resize(std::min(text.rfind(':'), text.size()));
    if (!text.empty() && into.size() < kMostHosts) into.push_back(std::move(text));
    return {};
  });
}

Result<RemotePiece> one_block(JsonReader& json) {
  RemotePiece piece;
  WEFT_TRY(json.object([&](std::string_view key) -> Result<void> {
    if (key == "offset") {
      WEFT_ASSIGN(piece.offset, count(json));
    } else if (key == "length") {
      WEFT_ASSIGN(piece.length, count(json));
    } else if (key == "hosts" || key == "names") {
      return texts(json, key == "names", piece.hosts);
    } else {
      return json.skip();
    }
    return {};
  }));
  std::sort(piece.hosts.begin(), piece.hosts.end());
  piece.hosts.erase(std::unique(piece.hosts.begin(), piece.hosts.end()), piece.hosts.end());
  return piece;
}

}  // namespace

Result<HdfsStatus> parse_status(std::string_view text, std::string_view source) {
  JsonReader json(text, source);
  HdfsStatus status;
  WEFT_TRY(member(json, "FileStatus", [&]() -> Result<void> {
    WEFT_ASSIGN(status, one_status(json));
    return {};
  }));
  status.name.clear();
  return status;
}

Result<HdfsListing> parse_listing(std::string_view text, std::string_view source) {
  JsonReader json(text, source);
  HdfsListing listing;
  bool found = false;
  WEFT_TRY(json.object([&](std::string_view key) -> Result<void> {
    if (key == "FileStatuses") {
      found = true;
      return statuses(json, listing.entries);
    }
    if (key != "DirectoryListing") return json.skip();
    return json.object([&](std::string_view inner) -> Result<void> {
      if (inner == "remainingEntries") {
        WEFT_ASSIGN(const std::uint64_t left, count(json));
        listing.more = left != 0;
        return {};
      }
      if (inner != "partialListing") return json.skip();
      found = true;
      return member(json, "FileStatuses", [&] { return statuses(json, listing.entries); });
    });
  }));
  if (!found) return fail(json.error("there is no list"));
  return listing;
}

Result<std::vector<RemotePiece>> parse_blocks(std::string_view text, std::uint64_t length, std::string_view source) {
  JsonReader json(text, source);
  std::vector<RemotePiece> pieces;
  std::uint64_t end = 0;
  WEFT_TRY(member(json, "BlockLocations", [&] {
    return member(json, "BlockLocation", [&] {
      return json.array([&]() -> Result<void> {
        WEFT_ASSIGN(RemotePiece piece, one_block(json));
        if (end == length) return {};  // the file grew meanwhile: its reader notices
        if (piece.offset != end) return fail(json.error("the blocks are not those of the file"));
        piece.length = std::min(piece.length, length - end);
        end += piece.length;
        if (piece.length != 0) pieces.push_back(std::move(piece));
        return {};
      });
    });
  }));
  if (end != length) return fail(json.error("the blocks are not all of the file"));
  return pieces;
}

Result<bool> parse_flag(std::string_view text, std::string_view source) {
  JsonReader json(text, source);
  bool flag = false;
  WEFT_TRY(member(json, "boolean", [&]() -> Result<void> {
    WEFT_ASSIGN(flag, json.flag());
    return {};
  }));
  return flag;
}

std::string parse_location(std::string_view text) {
  JsonReader json(text, "answer");
  std::string location;
  const auto parsed = member(json, "Location", [&]() -> Result<void> {
    WEFT_ASSIGN(location, json.text());
    return {};
  });
  return parsed ? location : std::string();
}

std::optional<RemoteException> parse_exception(std::string_view text) {
  JsonReader json(text, "answer");
  RemoteException exception;
  const auto parsed = member(json, "RemoteException", [&] {
    return json.object([&](std::string_view key) -> Result<void> {
      if (key == "exception") {
        WEFT_ASSIGN(exception.name, json.text());
      } else if (key == "message" && json.peek() == JsonReader::Kind::text) {
        WEFT_ASSIGN(exception.message, json.text());
      } else {
        return json.skip();
      }
      return {};
    });
  });
  if (!parsed || exception.name.empty()) return std::nullopt;
  exception.message.resize(std::min({exception.message.find('\n'), exception.message.size(), std::size_t{300}}));
  return exception;
}

}  // namespace weft::storage::hdfs
