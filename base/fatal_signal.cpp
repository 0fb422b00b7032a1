#include "base/fatal_signal.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/sanitized.hpp"

namespace weft {
namespace {

constexpr std::size_t kStackBytes = 64u << 10;
constexpr std::size_t kMostModules = 64;
constexpr int kMostFrames = 48;
constexpr unsigned kSecondsToSay = 5;

/// Of the program and its libraries: where their addresses begin.
struct Module {
  std::uintptr_t bias = 0, begin = 0, end = 0;
  std::array<char, 48> name{};
};

// A signal handler can reach nothing but globals; these belong to the process.
std::array<struct sigaction, kFatalSignals.size()> former_actions{};
std::array<char, 128> process_name{};
std::array<char, 512> termination_reason{};  // of std::terminate
std::array<Module, kMostModules> modules{};
std::size_t module_count = 0;
std::atomic<FatalSignalHook> hook{nullptr};
std::atomic<bool> named{false};
std::atomic<int> crash_log{-1};
std::atomic<pid_t> speaker{0};  // the thread that has begun to write its line

/// A line of text put together without memory of its own; what does not fit is cut.
class Line {
 public:
  Line& operator<<(std::string_view text) {
    const std::size_t step = std::min(text.size(), kRoom - size_);
    std::memcpy(text_ + size_, text.data(), step);
    for (char* at = text_ + size_; at != text_ + size_ + step; ++at)
      if (static_cast<unsigned char>(*at) < 0x20) *at = ' ';
    size_ += step;
    return *this;
  }
  Line& operator<<(long long number) { return put(number, 10); }
  Line& hex(std::uintptr_t number) { return (*this << "0x").put(number, 16); }
  Line& two_digits(long long number) { return *this << (number < 10 ? "0" : "") << number; }

  void write() {
    text_[size_++] = '\n';
    for (const int fd : {2, crash_log.load()})
      while (fd >= 0 && ::write(fd, text_, size_) < 0 && errno == EINTR) {
      }
  }

 private:
  template <class Number>
  Line& put(Number number, int base) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, number, base).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }

  static constexpr std::size_t kRoom = 3071;
  char text_[kRoom + 1];
  std::size_t size_ = 0;
};

/// "2026-01-31T12:00:00Z": gmtime_r() may not be called here. Days to dates after Hinnant, chrono-Compatible Low-Level Date
/// Algorithms.
void put_time(Line& line) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const long long seconds = now.tv_sec % 86'400, days = now.tv_sec / 86'400 + 719'468;
  const long long era = days / 146'097, of_era = days % 146'097;
  const long long year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const long long of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
  const long long civil_month = month < 10 ? month + 3 : month - 9;
  line << year + era * 400 + (civil_month <= 2 ? 1 : 0) << "-";
  line.two_digits(civil_month) << "-";
  line.two_digits(of_year - (153 * month + 2) / 5 + 1) << "T";
  line.two_digits(seconds / 3600) << ":";
  line.two_digits(seconds / 60 % 60) << ":";
  line.two_digits(seconds % 60) << "Z";
}

/// Where the fault is; null when the signal was sent.
void* fault_of(const siginfo_t& info, void* context) {
#ifdef __x86_64__
  if (info.si_code > 0) return reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#endif
  static_cast<void>(info), static_cast<void>(context);
  return nullptr;
}

void put_backtrace(Line& line, const void* fault) {
  void* frames[kMostFrames];
  const int count = ::backtrace(frames, kMostFrames);
  void** const found = fault == nullptr ? frames + count : std::find(frames, frames + count, fault);
  line << "; backtrace:";
  for (void** frame = found != frames + count ? found : frames; frame != frames + count; ++frame) {
    const auto address = reinterpret_cast<std::uintptr_t>(*frame);
    const Module *const begin = modules.data(), *const end = begin + module_count;
    const Module* const of = std::find_if(begin, end, [&](const Module& m) { return address >= m.begin && address < m.end; });
    line << " ";
    if (of != end) line << of->name.data() << "+";
    line.hex(of != end ? address - of->bias : address);
  }
}

void say(int number, const siginfo_t& info, void* context) {
  pid_t nobody = 0;
  const pid_t self = ::gettid();
  const bool first = speaker.compare_exchange_strong(nobody, self);
  while (!first && nobody != self) ::pause();  // another thread is about to end the process
  ::alarm(kSecondsToSay);                      // the fault may hold a lock that a backtrace needs
  Line line;
  put_time(line);
  line << " error " << process_name.data() << " (process " << ::getpid() << "): died of SIG" << ::sigabbrev_np(number);
  if (termination_reason[0] != '\0') line << " (" << termination_reason.data() << ")";
  if (info.si_code > 0) (line << " at address ").hex(reinterpret_cast<std::uintptr_t>(info.si_addr));
  if (info.si_code <= 0 && info.si_pid != ::getpid()) line << ", sent by process " << info.si_pid;
  if (first)  // else it was the backtrace that failed
    put_backtrace(line, fault_of(info, context));
  line.write();
  ::alarm(0);
}

/// Speaks, then lets the signal take its former course: a fault happens again on return, a signal that was sent is sent again.
void on_fatal(int number, siginfo_t* info, void* context) {
  if (const FatalSignalHook first = hook.load()) first(number);
  if (!kSanitized && named) say(number, *info, context);
  for (std::size_t i = 0; i < kFatalSignals.size(); ++i)
    if (kFatalSignals[i] == number) ::sigaction(number, &former_actions[i], nullptr);
  if (info->si_code <= 0) ::raise(number);
}

void keep_reason(const char* text) noexcept { std::strncpy(termination_reason.data(), text, termination_reason.size() - 1); }

[[noreturn]] void on_terminate() {
  keep_reason("std::terminate");
  if (const auto thrown = std::current_exception()) try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& fault) {
      keep_reason(fault.what());
    } catch (...) {
      keep_reason("an exception that is no std::exception");
    }
  std::abort();
}

int note_module(dl_phdr_info* info, std::size_t, void* program) {
  if (module_count == kMostModules) return 1;
  Module& module = modules[module_count++];
  const std::string_view path = info->dlpi_name[0] != '\0' ? info->dlpi_name : static_cast<const char*>(program);
  const std::string_view name = path.substr(path.rfind('/') + 1).substr(0, module.name.size() - 1);
  std::copy(name.begin(), name.end(), module.name.begin());
  module.bias = module.begin = module.end = info->dlpi_addr;
  bool any = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    module.begin = any ? std::min(module.begin, begin) : begin;
    module.end = std::max(module.end, begin + segment.p_memsz);
    any = true;
  }
  return 0;
}

void note_modules() {
  std::array<char, 4096> program{};
  if (::readlink("/proc/self/exe", program.data(), program.size() - 1) < 0) program[0] = '?';
  ::dl_iterate_phdr(note_module, program.data());
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads what it needs, which a signal handler may not
}

void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_fatal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ::sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kFatalSignals.size(); ++i) ::sigaction(kFatalSignals[i], &action, &former_actions[i]);
  });
}

}  // namespace

void log_fatal_signals(std::string_view name) {
  const std::string_view cut = name.substr(0, process_name.size() - 1);
  process_name.fill('\0');
  std::copy(cut.begin(), cut.end(), process_name.begin());
  if (kSanitized || named.exchange(true)) return;
  install_handlers();
  note_modules();
  const char* path = std::getenv(kCrashLogVariable);
  if (path != nullptr && *path != '\0') crash_log = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  std::set_terminate(on_terminate);
}

void set_fatal_signal_hook(FatalSignalHook wanted) {
  hook = wanted;
  install_handlers();
}

SignalStack::SignalStack() : memory_(new std::byte[kStackBytes]) {
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = kStackBytes;
  ::sigaltstack(&stack, &previous_);
  sigset_t fatal;
  ::sigemptyset(&fatal);
  for (const int number : kFatalSignals) ::sigaddset(&fatal, number);
  ::pthread_sigmask(SIG_UNBLOCK, &fatal, nullptr);
}

SignalStack::~SignalStack() { ::sigaltstack(&previous_, nullptr); }

}  // namespace weft
