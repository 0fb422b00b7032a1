#include "runtime/devices/device.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>

#include "base/text.hpp"
#include "runtime/devices/device_session.hpp"
#include "runtime/devices/opencl.hpp"

namespace weft::runtime {
namespace {

constexpr std::string_view kLineStart = "weft-device";
constexpr cl::Uint kMostPlatforms = 64, kMostDevices = 256;

/// What drivers say goes into logs and listings.
std::string cleaned(std::string text) {
  constexpr std::size_t kMost = 100;
  text.resize(std::min(text.find('\0'), std::min(text.size(), kMost)));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == ',' || c == '=' || static_cast<unsigned char>(c) > '~') c = ' ';
  return std::string(trim(text));
}

template <class Ask>
std::string text_of(Ask&& ask) {
  std::string text(1024, '\0');
  std::size_t size = 0;
  return ask(text.size(), text.data(), &size) == cl::kSuccess ? cleaned(std::move(text)) : std::string();
}

template <class Value>
Value value_of(const cl::Functions& f, cl::DeviceId device, cl::Uint what) {
  Value value{};
  return f.clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == cl::kSuccess ? value : Value{};
}

std::string kind_of(cl::Bits type) {
  if ((type & cl::kTypeGpu) != 0) return "gpu";
  return (type & cl::kTypeCpu) != 0 ? "cpu" : "accelerator";
}

bool usable(const cl::Functions& f, cl::DeviceId device) {
  return value_of<cl::Uint>(f, device, cl::kDeviceAvailable) != 0 && value_of<cl::Uint>(f, device, cl::kDeviceCompiler) != 0 &&
         value_of<cl::Uint>(f, device, cl::kDeviceLittleEndian) != 0;
}

}  // namespace

std::optional<DeviceLabel> parse_device_label(std::string_view label) {
  const auto point = label.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  const auto platform = parse_number<std::uint32_t>(label.substr(0, point)),
             device = parse_number<std::uint32_t>(label.substr(point + 1));
  if (!platform || !device) return std::nullopt;
  return DeviceLabel{*platform, *device};
}

std::vector<Device> find_devices(std::string& why) {
  std::vector<Device> found;
  const cl::Functions* f = cl::load(why);
  if (f == nullptr) return found;
  cl::Platform platforms[kMostPlatforms]{};
  cl::Uint platform_count = 0;
  if (f->clGetPlatformIDs(kMostPlatforms, platforms, &platform_count) != cl::kSuccess) platform_count = 0;
  if (platform_count == 0) why = "no OpenCL driver is installed (/etc/OpenCL/vendors)";
  for (cl::Uint p = 0; p < std::min(platform_count, kMostPlatforms); ++p) {
    cl::DeviceId devices[kMostDevices]{};
    cl::Uint count = 0;
    if (f->clGetDeviceIDs(platforms[p], cl::kTypeAll, kMostDevices, devices, &count) != cl::kSuccess) continue;
    const std::string platform = text_of([&](std::size_t size, void* value, std::size_t* got) {
      return f->clGetPlatformInfo(platforms[p], cl::kPlatformName, size, value, got);
    });
    for (cl::Uint d = 0; d < std::min(count, kMostDevices); ++d) {
      if (!usable(*f, devices[d])) continue;
      Device device;
      device.label = fmt::format("{}.{}", p, d);
      device.kind = kind_of(value_of<cl::Bits>(*f, devices[d], cl::kDeviceType));
      device.memory_bytes = value_of<std::uint64_t>(*f, devices[d], cl::kDeviceMemory);
      device.platform = platform;
      device.name = text_of([&](std::size_t size, void* value, std::size_t* got) {
        return f->clGetDeviceInfo(devices[d], cl::kDeviceName, size, value, got);
      });
      found.push_back(std::move(device));
    }
  }
  return found;
}

Result<void> try_device(std::string_view label) {
  WEFT_ASSIGN(const auto session, DeviceSession::open(label));
  return session->try_memory();
}

std::string to_line(const Device& device) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}", kLineStart, device.label, device.kind, device.memory_bytes, device.platform,
                     device.name);
}

std::optional<Device> parse_device_line(std::string_view line) {
  const auto fields = split(line, '\t');
  if (fields.size() != 6 || fields[0] != kLineStart || !parse_device_label(fields[1])) return std::nullopt;
  const auto memory = parse_number<std::uint64_t>(fields[3]);
  if (!memory || fields[2].empty()) return std::nullopt;
  return Device{std::string(fields[1]), std::string(fields[2]), *memory, std::string(fields[4]), std::string(fields[5])};
}

std::optional<int> run_if_device_list() {
  const char* role = std::getenv("WEFT_ROLE");
  if (role == nullptr || std::string_view(role) != kDevicesRole) return std::nullopt;
  const char* tried = std::getenv(kTriedDeviceVariable);
  if (tried != nullptr && *tried != '\0') {
    const auto works = try_device(tried);
    if (!works) fmt::print("{}\n", works.error().to_string());
    return works ? 0 : 1;
  }
  std::string why;
  for (const Device& device : find_devices(why)) fmt::print("{}\n", to_line(device));
  if (!why.empty()) fmt::print("{}\n", why);
  return 0;
}

}  // namespace weft::runtime
