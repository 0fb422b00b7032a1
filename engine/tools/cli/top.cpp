// weft top
#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/display_width.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "engine/client/admin.hpp"
#include "engine/client/stop_signal.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/top_text.hpp"

namespace weft::tools {

namespace {

constexpr std::size_t kJobsInFull = 50;
constexpr Duration kStep = std::chrono::milliseconds(100);  // at most until a signal is seen

struct TopOptions {
  MasterOption master;
  Duration interval = std::chrono::seconds(2);
  bool json = false;
};

Result<TopSnapshot> look_at(client::Admin& admin) {
  TopSnapshot look;
  WEFT_ASSIGN(look.nodes, admin.nodes());
  WEFT_ASSIGN(look.jobs, admin.jobs());
  for (auto job = look.jobs.jobs.rbegin(); job != look.jobs.jobs.rend() && look.in_full.size() < kJobsInFull; ++job) {
    if (job->state != master::JobState::running) continue;
    if (auto full = admin.job(job->id)) look.in_full[job->id] = std::move(full->jobs[0]);
  }
  if (auto past = admin.past("hour")) look.past = *std::move(past);  // a master without a page does not keep it
  look.at = SystemClock().now();
  return look;
}

/// The whole terminal, given back as it was.
class Screen {
 public:
  Screen() {
    if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      has_keys_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
    }
    write("\033[?1049h\033[?25l");
  }
  ~Screen() {
    write("\033[?25h\033[?1049l");
    if (has_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  std::size_t rows() const { return size().ws_row; }
  void show(const std::vector<std::string>& lines) const {
    const winsize room = size();
    std::string text = "\033[H";
    for (std::size_t i = 0; i < lines.size() && i < room.ws_row; ++i)
      (text += i == 0 ? "" : "\r\n").append(fitting(printable(lines[i]), room.ws_col)).append("\033[K");
    write(text + "\033[J");
  }
  /// The key that is pressed within that time; 0: none.
  char key(Duration within) const {
    pollfd in{STDIN_FILENO, POLLIN, 0};
    const auto patience = static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(within).count());
    char pressed = 0;
    if (::poll(has_keys_ ? &in : nullptr, has_keys_ ? 1 : 0, std::max(patience, 0)) == 1 && ::read(STDIN_FILENO, &pressed, 1) == 1)
      return pressed;
    return 0;
  }

 private:
  static winsize size() {
    winsize found{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_row == 0 || found.ws_col == 0) return {24, 80, 0, 0};
    return found;
  }
  static void write(const std::string& text) {
    [[maybe_unused]] const auto ignored = ::write(STDOUT_FILENO, text.data(), text.size());
  }

  termios before_{};
  bool has_keys_ = false;
};

/// What the terminal shows, and what keys change of it.
class Top {
 public:
  explicit Top(const TopOptions& options) : options_(options) {}

  Result<void> run() {
    WEFT_TRY(admin_at(options_.master));
    WEFT_ASSIGN(admin_, client::Admin::connect(options_.master.address));  // later it shows that nobody answers
    const client::StopSignal stop;
    const Screen screen;
    while (!stop.requested() && !done_) {
      if (!paused_) refresh();
      show(screen);
      const TimePoint next = SystemClock().now() + options_.interval;
      for (bool again = false; !again && !done_ && !stop.requested();) {
        const Duration left = next - SystemClock().now();
        if (left <= Duration(0)) break;
        const char key = screen.key(std::min(left, kStep));
        again = key == ' ';
        if (press(key)) show(screen);
      }
    }
    return {};
  }

 private:
  void refresh() {
    auto look = look_at(*admin_);
    trouble_ = look ? "" : look.error().to_string();
    if (!look) return;
    before_ = std::move(now_);
    now_ = std::move(*look);
  }

  void show(const Screen& screen) {
    view_.rows = screen.rows() - std::min<std::size_t>(screen.rows(), 2);
    std::vector<std::string> lines{fmt::format("weft top: {}{}   q: quit  j: jobs  n: workers  a: both  p: pause  space: now",
                                               options_.master.address, paused_ ? " (paused)" : "")};
    lines.push_back(trouble_);
    if (now_)
      for (std::string& line : top_lines(*now_, before_ ? &*before_ : nullptr, view_)) lines.push_back(std::move(line));
    screen.show(lines);
  }

  /// True when it changes what is shown.
  bool press(char key) {
    done_ = done_ || key == 'q';
    if (key == 'p') paused_ = !paused_;
    if (key == 'j' || key == 'n' || key == 'a') view_ = {.nodes = key != 'j', .jobs = key != 'n'};
    return key != 0;
  }

  const TopOptions options_;
  std::unique_ptr<client::Admin> admin_;
  std::optional<TopSnapshot> before_, now_;
  TopLayout view_;
  std::string trouble_;
  bool paused_ = false, done_ = false;
};

Result<void> top(const TopOptions& options) {
  if (!options.json && ::isatty(STDOUT_FILENO) == 1) return Top(options).run();
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const TopSnapshot look, look_at(*admin));
  if (options.json) return print(top_json(look));
  return print(join(top_lines(look, nullptr, {}), "\n") + "\n");
}

}  // namespace

void add_top(CLI::App& app, Action& action) {
  Command<TopOptions> command(app, action, "top", "The cluster on a terminal, refreshed: workers, running jobs, slots, rates", top);
  add_duration_option(command.master().app(), "--interval", command.options().interval, Zero::refused,
                      "Between two looks (default: 2s)");
  command.flag("--json", &TopOptions::json, "One look as JSON")
      .app()
      .footer(
          "Keys: q ends it, j shows jobs only, n workers only, a both, p pauses and goes on, space looks at once.\n"
          "Where standard output is no terminal, one look is printed.");
}

}  // namespace weft::tools
