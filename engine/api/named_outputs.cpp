#include "weft/detail/named_outputs.hpp"

#include <stdexcept>

#include "base/timed.hpp"

namespace weft::detail {
namespace {

constexpr std::size_t kOpenFiles = 16;  // each has a buffer
constexpr std::size_t kLongestName = 1000;

}  // namespace

NamedOutputs::NamedOutputs(runtime::TaskContext& context, std::string work_directory)
    : context_(context), work_(std::move(work_directory)) {}

void NamedOutputs::check(const std::string& name) {
  bool fits = name.size() <= kLongestName && name.find_first_of(std::string_view("\n\0", 2)) == std::string::npos;
  for (std::size_t begin = 0; fits && begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const char first = begin < end ? name[begin] : '.';
    fits = first != '.' && first != '_' && end - begin <= 255;
    begin = end + 1;
  }
  if (!fits)
    throw std::invalid_argument(
        "write_text_by: '" + name.substr(0, 100) +
        "' is no name of a directory: not empty, no line ends, no part that begins with '.' or '_' (these are "
        "skipped when directories are read)");
}

NamedOutputs::File NamedOutputs::open() {
  const auto& attempt = context_.attempt;
  return runtime::value_or_throw(storage::OutputFile::create(work_,
                                                             "task-" + std::to_string(attempt.task.stage.value()) + "-" +
                                                                 std::to_string(attempt.task.index) + "-" +
                                                                 std::to_string(attempt.attempt) + "-" + std::to_string(opened_++),
                                                             context_.files));
}

void NamedOutputs::append(storage::OutputFile& file, std::string_view line) {
  runtime::value_or_throw(timed(context_.usage.write, [&] { return file.append(as_bytes(line)); }));
}

void NamedOutputs::close(storage::OutputFile& file, const std::string& name) {
  runtime::value_or_throw(timed(context_.usage.write, [&] { return file.close(); }));
  written_.append(file.name()).append("/").append(name).append("\n");
}

void NamedOutputs::add(const std::string& name, std::string_view line) {
  auto found = files_.find(name);
  if (found == files_.end()) {
    check(name);
    if (files_.size() == kOpenFiles) {
      if (!others_) others_.emplace(context_.operators);
      others_->add(Line(name, line));
      return;
    }
    found = files_.emplace(name, open()).first;
  }
  append(*found->second, line);
}

std::string NamedOutputs::finish() {
  for (const auto& [name, file] : files_) close(*file, name);
  files_.clear();
  if (others_) {
    File file;
    std::string current;
    others_->drain([&](Line&& line) {
      if (file == nullptr || line.first != current) {
        if (file != nullptr) close(*file, current);
        current = line.first;
        file = open();
      }
      append(*file, line.second);
    });
    if (file != nullptr) close(*file, current);
  }
  if (written_.empty()) written_ = "\n";  // a list of nothing
  return std::move(written_);
}

}  // namespace weft::detail
