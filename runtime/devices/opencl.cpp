#include "runtime/devices/opencl.hpp"

#include <mutex>

#include <dlfcn.h>
#include <fmt/core.h>

namespace weft::runtime::cl {
namespace {

constexpr const char* kLibrary = "libOpenCL.so.1";

struct Loaded {
  Functions functions{};
  std::string why;  // empty: all functions are there
};

template <class Function>
void find(void* library, const char* name, Function& function, std::string& why) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr && why.empty()) why = fmt::format("{} has no function {}", kLibrary, name);
}

Loaded load_all() {
  Loaded loaded;
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = ::dlerror();
    loaded.why = error != nullptr ? error : kLibrary;
    return loaded;
  }
  Functions& f = loaded.functions;
#define WEFT_FIND(name) find(library, #name, f.name, loaded.why)
  WEFT_FIND(clGetPlatformIDs);
  WEFT_FIND(clGetPlatformInfo);
  WEFT_FIND(clGetDeviceIDs);
  WEFT_FIND(clGetDeviceInfo);
  WEFT_FIND(clCreateContext);
  WEFT_FIND(clCreateCommandQueue);
  WEFT_FIND(clCreateBuffer);
  WEFT_FIND(clCreateProgramWithSource);
  WEFT_FIND(clBuildProgram);
  WEFT_FIND(clGetProgramBuildInfo);
  WEFT_FIND(clCreateKernel);
  WEFT_FIND(clGetKernelInfo);
  WEFT_FIND(clSetKernelArg);
  WEFT_FIND(clEnqueueWriteBuffer);
  WEFT_FIND(clEnqueueReadBuffer);
  WEFT_FIND(clEnqueueNDRangeKernel);
  WEFT_FIND(clGetEventInfo);
  WEFT_FIND(clFlush);
  WEFT_FIND(clFinish);
  WEFT_FIND(clReleaseMemObject);
  WEFT_FIND(clReleaseEvent);
  WEFT_FIND(clReleaseKernel);
  WEFT_FIND(clReleaseProgram);
  WEFT_FIND(clReleaseCommandQueue);
  WEFT_FIND(clReleaseContext);
#undef WEFT_FIND
  return loaded;
}

}  // namespace

const Functions* load(std::string& why) {
  static const Loaded loaded = load_all();
  why = loaded.why;
  return loaded.why.empty() ? &loaded.functions : nullptr;
}

std::string error_name(Int error) {
  const auto named = [&](const char* name) { return fmt::format("{} ({})", name, error); };
  switch (error) {
    case kDeviceNotFound:
      return named("no device");
    case -2:
      return named("the device is not available");
    case kAllocationFailure:
      return named("the device cannot hold the buffers");
    case kOutOfResources:
      return named("out of resources");
    case kOutOfHostMemory:
      return named("out of memory");
    case kInvalidWorkGroupSize:
      return named("the device has no groups of that size");
    case kInvalidBufferSize:
      return named("the device has no buffers of that size");
    default:
      return fmt::format("OpenCL error {}", error);
  }
}

bool is_want_of_memory(Int error) {
  return error == kAllocationFailure || error == kOutOfResources || error == kOutOfHostMemory || error == kInvalidBufferSize;
}

}  // namespace weft::runtime::cl
