# Run by CPack on the files of a package. In a Debian package no file says where
# libraries are: the loader looks in /usr/lib by itself. In an archive, which is
# unpacked anywhere, they are looked for beside the files, and nowhere that only
# this machine has, such as the folder of a pip torch.
file(GLOB_RECURSE files LIST_DIRECTORIES false ${CPACK_TEMPORARY_DIRECTORY}/*)
foreach(file ${files})
  if(IS_SYMLINK ${file})
    continue()
  endif()
  file(READ ${file} magic LIMIT 4 HEX)
  if(NOT magic STREQUAL "7f454c46")
    continue()
  elseif(CPACK_GENERATOR STREQUAL "DEB")
    file(RPATH_REMOVE FILE ${file})
  else()
    file(RPATH_SET FILE ${file} NEW_RPATH "${CPACK_KITH_RUN_PATH}")
  endif()
endforeach()
