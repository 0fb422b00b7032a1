#include "engine/tools/display/standard_output.hpp"

#include <cstdio>

#include <unistd.h>

#include "base/broken_pipe.hpp"
#include "base/file.hpp"
#include "base/printable.hpp"

namespace weft::tools {

Result<void> print(const std::string& text) {
  const std::string shown = printable_lines(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  return {};
}

Result<void> print_bytes(ByteView bytes) {
  std::fflush(stdout);
  if (auto written = write_all(STDOUT_FILENO, bytes); !written) {
    WEFT_TRY(check_reader());
    return fail(std::move(written).error().wrap("standard output"));
  }
  return {};
}

Result<void> check_reader() {
  if (!reader_is_gone(STDOUT_FILENO)) return {};
  return fail(Code::cancelled, "nobody reads standard output any more");
}

}  // namespace weft::tools
