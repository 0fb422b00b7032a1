#include "engine/client/live_lines.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/display_width.hpp"

namespace weft::client {

namespace {

constexpr std::size_t kFewestRows = 10, kMostLines = 5;
// Control sequences of VT100 and all that followed it.
constexpr std::string_view kSave = "\0337", kRestore = "\0338", kWholeRegion = "\033[r", kEraseBelow = "\033[J",
                           kEraseLine = "\033[2K";

std::string go_to(std::size_t row) { return fmt::format("\033[{};1H", row); }

bool can_address(int fd) {
  const char* term = std::getenv("TERM");
  return ::isatty(fd) == 1 && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

}  // namespace

LiveLines::LiveLines(int fd) : fd_(fd), works_(can_address(fd) && size().rows >= kFewestRows) {}

LiveLines::Size LiveLines::size() const {
  winsize window{};
  if (::ioctl(fd_, TIOCGWINSZ, &window) != 0) return {};
  return {window.ws_row, window.ws_col};
}

void LiveLines::write(const std::string& text) const {
  std::string_view rest = text;  // nearly always in one piece, so that nothing of others comes between
  while (!rest.empty()) {
    const ssize_t wrote = ::write(fd_, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

void LiveLines::show(const std::vector<std::string>& lines) {
  if (!works_) return;
  if (reserved_ > 0 && size() != size_) clear();
  if (lines.empty()) return clear();
  const std::size_t shown = std::min(lines.size(), kMostLines);
  std::string text;
  if (shown > reserved_) {
    clear();
    size_ = size();
    if (size_.rows < kFewestRows) return;
    // Room below the cursor, which keeps its column: what is printed there may be half a line.
    for (std::size_t i = 0; i < shown; ++i) text += "\033D";
    text += fmt::format("\033[{}A{}\033[1;{}r{}", shown, kSave, size_.rows - shown, kRestore);
    reserved_ = shown;
  }
  text += kSave;
  for (std::size_t i = 0; i < reserved_; ++i) {
    text += go_to(size_.rows - reserved_ + 1 + i) + std::string(kEraseLine);
    if (i < shown) text += fitting(lines[i], std::max<std::size_t>(size_.columns, 2) - 1);
  }
  write(text + std::string(kRestore));
}

void LiveLines::clear() {
  if (reserved_ == 0) return;
  std::string text(kSave);
  text += go_to(size_.rows - reserved_ + 1);
  text += kEraseBelow;
  text += kWholeRegion;
  text += kRestore;
  write(text);
  reserved_ = 0;
}

}  // namespace weft::client
