#include "weft/detail/actions.hpp"

namespace weft::detail {

void result_too_large(std::string_view name) {
  throw runtime::TaskError{
      Error(Code::resource_exhausted,
            std::string(name) + ": the result is larger than 256 MiB; write it to files with write_text instead")};
}

}  // namespace weft::detail
