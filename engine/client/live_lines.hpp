// Lines at the bottom of a terminal that change, while what programs print scrolls above them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft::client {

/// The bottom lines are taken out of the terminal's scrolling region, so output of any thread or process that is printed at any
/// time stays whole and in its order. Nothing is shown where the file is no terminal, $TERM is dumb or not set, or there are fewer
/// than ten rows. One thread.
class LiveLines {
 public:
  explicit LiveLines(int fd);
  ~LiveLines() { clear(); }
  LiveLines(const LiveLines&) = delete;
  LiveLines& operator=(const LiveLines&) = delete;

  bool works() const { return works_; }
  /// In place of the lines that are shown; the first five, each cut off at the right edge.
  void show(const std::vector<std::string>& lines);
  /// Gives the terminal back as it was.
  void clear();

 private:
  struct Size {
    std::size_t rows = 0, columns = 0;
    friend bool operator==(const Size&, const Size&) = default;
  };
  Size size() const;
  void write(const std::string& text) const;

  const int fd_;
  bool works_ = false;
  Size size_;                 // as it was when lines were shown first
  std::size_t reserved_ = 0;  // rows at the bottom
};

}  // namespace weft::client
