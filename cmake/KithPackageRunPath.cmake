# Run by CPack on the files of a package: libraries are looked for beside them,
# and nowhere that only this machine has, such as the folder of a pip torch.
file(GLOB_RECURSE files LIST_DIRECTORIES false ${CPACK_TEMPORARY_DIRECTORY}/*)
foreach(file ${files})
  if(IS_SYMLINK ${file})
    continue()
  endif()
  file(READ ${file} magic LIMIT 4 HEX)
  if(magic STREQUAL "7f454c46")
    file(RPATH_SET FILE ${file} NEW_RPATH "${CPACK_KITH_RUN_PATH}")
  endif()
endforeach()
