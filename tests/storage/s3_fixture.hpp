// Files of a service for tests, with little patience.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/inputs.hpp"
#include "storage/objects/s3_files.hpp"
#include "storage/output_directory.hpp"
#include "storage/output_file.hpp"
#include "storage/split.hpp"
#include "storage/text_reader.hpp"
#include "tests/storage/s3_service.hpp"

namespace weft::storage::objects {

using http::HttpOptions;
using weft::test::S3Service;

inline HttpOptions impatient() {
  HttpOptions options;
  options.patience = std::chrono::seconds(20);
  options.first_pause = std::chrono::milliseconds(2);
  options.longest_pause = std::chrono::milliseconds(50);
  return options;
}

inline std::unique_ptr<S3Files> files_of(const S3Service& service) { return s3_files(service.settings(), impatient()); }

inline std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "line " + std::to_string(i) + " of a text that is read in pieces\n";
  return text;
}

/// All lines of the inputs, read split by split as tasks do.
inline std::string read_all(RemoteFiles& files, const std::string& input, std::uint64_t pieces) {
  const std::vector<std::string> inputs{input};
  auto found = expand_inputs(inputs, &files);
  if (!found) return found.error().to_string();
  auto groups = split_files(found->paths, {.min_groups = pieces}, &files, found->versions);
  if (!groups) return groups.error().to_string();
  std::string text;
  TextReader reader(UINT64_MAX, &files);
  for (const SplitGroup& group : *groups)
    for (const Split& split : group) {
      auto read = reader.for_each_line(
          split, [](std::uint64_t) {}, [&](std::string_view line) { text.append(line).append("\n"); });
      if (!read) return read.error().to_string();
    }
  return text;
}

/// One attempt's file with this content; what the driver learns of it.
inline std::string attempt(RemoteFiles& files, OutputDirectory& output, std::size_t part, const std::string& content,
                           int number = 0) {
  auto file = OutputFile::create(output.work_directory(), "task-1-" + std::to_string(part) + "-" + std::to_string(number), &files,
                                 Compression::none, part_name(part));
  EXPECT_TRUE(file);
  EXPECT_TRUE((*file)->append(as_bytes(content)));
  const auto closed = (*file)->close();
  EXPECT_TRUE(closed) << closed.error().to_string();
  return (*file)->name();
}

}  // namespace weft::storage::objects
