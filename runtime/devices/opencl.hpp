// OpenCL's host library, as far as weft uses it: declared here and loaded at run time, so that nothing links it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::runtime::cl {

using Int = std::int32_t;
using Uint = std::uint32_t;
using Bits = std::uint64_t;
// Handles; the library owns what they refer to.
using Platform = struct PlatformHandle*;
using DeviceId = struct DeviceHandle*;
using Context = struct ContextHandle*;
using Queue = struct QueueHandle*;
using Memory = struct MemoryHandle*;
using Program = struct ProgramHandle*;
using KernelId = struct KernelHandle*;
using Event = struct EventHandle*;

// Values of cl.h (Khronos), which are the same for all implementations.
inline constexpr Int kSuccess = 0, kDeviceNotFound = -1, kAllocationFailure = -4, kOutOfResources = -5, kOutOfHostMemory = -6,
                     kInvalidKernelName = -46, kInvalidWorkGroupSize = -54, kInvalidBufferSize = -61;
inline constexpr Bits kTypeCpu = 2, kTypeGpu = 4, kTypeAccelerator = 8, kTypeAll = 0xffffffff;
inline constexpr Uint kPlatformName = 0x0902;
inline constexpr Uint kDeviceType = 0x1000, kDeviceMemory = 0x101f, kDeviceAvailable = 0x1027, kDeviceCompiler = 0x1028,
                      kDeviceLittleEndian = 0x1026, kDeviceName = 0x102b;
inline constexpr Uint kBuildLog = 0x1183, kKernelArguments = 0x1191, kEventStatus = 0x11d3;
inline constexpr Bits kReadWrite = 1, kWriteOnly = 2, kReadOnly = 4;

/// The functions, by the names that cl.h gives them.
struct Functions {
  Int (*clGetPlatformIDs)(Uint, Platform*, Uint*);
  Int (*clGetPlatformInfo)(Platform, Uint, std::size_t, void*, std::size_t*);
  Int (*clGetDeviceIDs)(Platform, Bits, Uint, DeviceId*, Uint*);
  Int (*clGetDeviceInfo)(DeviceId, Uint, std::size_t, void*, std::size_t*);
  Context (*clCreateContext)(const std::intptr_t*, Uint, const DeviceId*, void (*)(const char*, const void*, std::size_t, void*),
                             void*, Int*);
  Queue (*clCreateCommandQueue)(Context, DeviceId, Bits, Int*);
  Memory (*clCreateBuffer)(Context, Bits, std::size_t, void*, Int*);
  Program (*clCreateProgramWithSource)(Context, Uint, const char**, const std::size_t*, Int*);
  Int (*clBuildProgram)(Program, Uint, const DeviceId*, const char*, void (*)(Program, void*), void*);
  Int (*clGetProgramBuildInfo)(Program, DeviceId, Uint, std::size_t, void*, std::size_t*);
  KernelId (*clCreateKernel)(Program, const char*, Int*);
  Int (*clGetKernelInfo)(KernelId, Uint, std::size_t, void*, std::size_t*);
  Int (*clSetKernelArg)(KernelId, Uint, std::size_t, const void*);
  Int (*clEnqueueWriteBuffer)(Queue, Memory, Uint, std::size_t, std::size_t, const void*, Uint, const Event*, Event*);
  Int (*clEnqueueReadBuffer)(Queue, Memory, Uint, std::size_t, std::size_t, void*, Uint, const Event*, Event*);
  Int (*clEnqueueNDRangeKernel)(Queue, KernelId, Uint, const std::size_t*, const std::size_t*, const std::size_t*, Uint,
                                const Event*, Event*);
  Int (*clGetEventInfo)(Event, Uint, std::size_t, void*, std::size_t*);
  Int (*clFlush)(Queue);
  Int (*clFinish)(Queue);
  Int (*clReleaseMemObject)(Memory);
  Int (*clReleaseEvent)(Event);
  Int (*clReleaseKernel)(KernelId);
  Int (*clReleaseProgram)(Program);
  Int (*clReleaseCommandQueue)(Queue);
  Int (*clReleaseContext)(Context);
};

/// Null: the library is not there, or lacks one of the functions; `why` says so. It is loaded once and stays. Any thread.
const Functions* load(std::string& why);

/// "out of resources (-5)".
std::string error_name(Int error);
/// Whether less might fit: the device, or the driver, has not enough memory.
bool is_want_of_memory(Int error);

}  // namespace weft::runtime::cl
