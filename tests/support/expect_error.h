#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace kith {

/// Expects that `action` throws an Error whose message holds every part.
template <typename Error, typename Action, typename... Parts>
void expect_error(const Action& action, const Parts&... parts) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string_view message = error.what();
    for (const std::string_view part : {std::string_view(parts)...}) {
      EXPECT_NE(message.find(part), std::string_view::npos)
          << "no \"" << part << "\" in: " << message;
    }
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of error: " << error.what();
  }
}

}  // namespace kith
