// Messages as other releases might write them, made of messages of this one without a look at any schema.
#pragma once

#include "base/bytes.hpp"

namespace weft::releases {

/// Every struct has a number and a text behind those that it had: of a release whose schemas have grown.
Buffer grown(ByteView message);
/// The outermost struct has no fields: of a release that knew none of them.
Buffer with_nothing_in(ByteView message);
/// A list of unions that is the only field has one more element, of an unknown kind. Where there is no such list, the message
/// itself is of an unknown kind.
Buffer with_later_kind(ByteView message);

}  // namespace weft::releases
