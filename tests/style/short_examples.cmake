# cmake -DFOLDER=examples -P short_examples.cmake
# An example shows one thing: under 60 lines, or it is two.
file(GLOB examples ${FOLDER}/*.cpp)
foreach(example ${examples})
  file(READ ${example} text)
  string(REGEX MATCHALL "\n" lines "${text}")
  list(LENGTH lines count)
  if(NOT count LESS 60)
    message(SEND_ERROR "${example} has ${count} lines")
  endif()
endforeach()
