#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kith/report/insight.h"

namespace kith {

/// CSS with every album picture and scatter sheet once: as backgrounds of
/// classes, so that the many places that show a picture do not repeat it.
std::string picture_css(const std::vector<ImageGroup>& groups);

/// The class of a group's sheet of small pictures, given by picture_css().
std::string sheet_class(size_t group);

/// A picture of group `group`'s album with a text for screen readers; an
/// empty frame if the album has no such picture.
std::string album_picture(const std::vector<ImageGroup>& groups, size_t group,
                          size_t picture, const std::string& alt);

/// The class name of an album picture; empty if there is no such picture.
std::string picture_label(const ImageGroup& group, size_t picture);

/// A cell of a table with an album picture and a name beside it; of a row's
/// head if `head` says so.
std::string classed_cell(const std::vector<ImageGroup>& groups, size_t group,
                         size_t picture, const std::string& name,
                         bool head = false);

/// An <img>; nothing unless the URI is a picture's data, for a page loads
/// nothing.
std::string data_picture(const std::string& uri, const std::string& alt);

}  // namespace kith
