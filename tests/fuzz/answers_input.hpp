// Answers of stores of others, as bytes from whoever answers at their address: JSON of WebHDFS and XML of S3 services. What is read
// of them has the form that the rest of weft relies on, and what they are refused with is one line.
#pragma once

#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "storage/hdfs/answers.hpp"
#include "storage/hdfs/errors.hpp"
#include "storage/objects/s3_errors.hpp"
#include "storage/objects/xml.hpp"

namespace weft::fuzz {

template <class T>
void check_refusal(const Result<T>& result);

/// An answer of each kind of status with this body.
template <class Check>
void each_status(std::string_view body, Check&& check) {
  for (const long status : {200L, 307L, 400L, 401L, 403L, 404L, 409L, 429L, 500L, 503L}) {
    storage::http::HttpResponse answer;
    answer.status = status;
    answer.body = body;
    check(answer);
  }
}

inline void read_webhdfs(std::string_view text) {
  const auto is_name = [](const std::string& name) { return name.find('/') == std::string::npos && name != "." && name != ".."; };
  const auto status = storage::hdfs::parse_status(text, "file");
  check_refusal(status);
  if (status) WEFT_ASSERT(status->name.empty());
  const auto listing = storage::hdfs::parse_listing(text, "directory");
  check_refusal(listing);
  if (listing)
    for (const auto& entry : listing->entries) WEFT_ASSERT(!entry.name.empty() && is_name(entry.name));
  for (const std::uint64_t length : {0u, 5u, 300u}) {
    const auto blocks = storage::hdfs::parse_blocks(text, length, "file");
    check_refusal(blocks);
    if (!blocks) continue;
    std::uint64_t end = 0;
    for (const auto& piece : *blocks) {
      WEFT_ASSERT(piece.offset == end && piece.length != 0);
      end += piece.length;
    }
    WEFT_ASSERT(end == length);
  }
  check_refusal(storage::hdfs::parse_flag(text, "file"));
  static_cast<void>(storage::hdfs::parse_location(text));
  if (const auto exception = storage::hdfs::parse_exception(text))
    WEFT_ASSERT(!exception->name.empty() && exception->message.size() <= 300 && exception->message.find('\n') == std::string::npos);
  each_status(text, [](const auto& answer) {
    if (storage::hdfs::verdict_of(answer) == storage::hdfs::Verdict::done) return;
    check_refusal(Result<void>(fail(storage::hdfs::hdfs_error(answer, "read", "hdfs://nn/a", "ada"))));
  });
}

inline void read_s3_answer(std::string_view text) {
  const storage::objects::XmlDocument document = storage::objects::parse_xml(text);
  const bool empty = document.root().empty();
  for (const auto& row : document.rows("Contents", {"Key", "Size", "ETag", "LastModified"})) WEFT_ASSERT(!empty && row.size() == 4);
  const std::string key = document.text("Contents/Key");
  const std::string again = "<A><Contents><Key>" + storage::objects::xml_escaped(key) + "</Key></Contents></A>";
  // Ends of lines and spaces alone are not kept, and XML has no null.
  if (key.find_first_of(std::string_view("\r\0", 2)) == std::string::npos && key.find_first_not_of(" \t\n") != std::string::npos)
    WEFT_ASSERT(storage::objects::parse_xml(again).text("Contents/Key") == key);
  each_status(text, [](auto& answer) {
    storage::objects::S3Settings settings;
    settings.region = "eu-north-1";
    check_refusal(Result<void>(fail(storage::objects::s3_error(answer, "read", "s3://books/a", settings, 1'800'000'000))));
    answer.headers = {{"date", answer.body.substr(0, 40)}, {"x-amz-bucket-region", answer.body.substr(0, 40)}};
    check_refusal(Result<void>(fail(storage::objects::s3_error(answer, "read", "s3://books/a", settings, 1'800'000'000))));
  });
}

}  // namespace weft::fuzz
