// The devices of this machine that can run kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace weft::runtime {

/// The environment variable with the label of the one device that a process may use.
inline constexpr const char* kDeviceVariable = "WEFT_DEVICE";
/// The value of WEFT_ROLE of a process that lists devices, and the variable with the label of the one that it tries; empty: none.
inline constexpr const char* kDevicesRole = "devices";
inline constexpr const char* kTriedDeviceVariable = "WEFT_TRIED_DEVICE";

struct Device {
  std::string label;  // "0.1": the second device of the first platform
  std::string kind;   // "gpu", "cpu", "accelerator"
  std::uint64_t memory_bytes = 0;
  std::string platform, name;  // as the driver says
  friend bool operator==(const Device&, const Device&) = default;
};

/// "0.1"; nothing for other texts.
struct DeviceLabel {
  std::uint32_t platform = 0, device = 0;
};
std::optional<DeviceLabel> parse_device_label(std::string_view label);

/// All devices that are available and compile kernels, by asking the drivers in this process: they may crash it. No library is no
/// device; `why` says what is missing.
std::vector<Device> find_devices(std::string& why);

/// Writes to a byte of the device's memory, and reads it. The error says what the driver refused.
Result<void> try_device(std::string_view label);

/// A device as a line of the list, and back; nothing for other lines.
std::string to_line(const Device& device);
std::optional<Device> parse_device_line(std::string_view line);

/// When this process was started to list devices (WEFT_ROLE): prints the lines, tries the device of kTriedDeviceVariable, and
/// returns the exit code: 0 when that one works. Nothing in other roles.
std::optional<int> run_if_device_list();

}  // namespace weft::runtime
