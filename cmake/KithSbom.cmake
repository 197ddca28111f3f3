# cmake -DFILES=kith,libkith.so -DINSIDE=json@3.11,... -DREADELF=readelf
#   -DVERSION=0.1.0 -DTORCH=2.1.0 -DOUT=kith.cdx.json -P KithSbom.cmake
# Writes the bill of materials of the built FILES, in CycloneDX: what they are
# linked with, as the files themselves say, and what was compiled into them, as
# INSIDE says (NAME@VERSION or, where only headers are known, NAME@/HEADER); with
# version and licence of each. No date: the same files have the
# same bill.
cmake_minimum_required(VERSION 3.24)

# Name, licence (SPDX), home, and libraries as a regular expression. A library
# that is in no line has no licence in the bill, and a test finds that.
set(known
  "LibTorch|BSD-3-Clause|https://pytorch.org|^lib(torch|c10|caffe2|shm)"
  "libjpeg-turbo|IJG AND BSD-3-Clause AND Zlib|https://libjpeg-turbo.org|^libjpeg"
  "libpng|libpng-2.0|http://www.libpng.org|^libpng"
  "zlib|Zlib|https://zlib.net|^libz[.]"
  "libwebp|BSD-3-Clause|https://chromium.googlesource.com/webm/libwebp|^libwebp"
  "libtiff|libtiff|http://www.simplesystems.org/libtiff|^libtiff"
  "yaml-cpp|MIT|https://github.com/jbeder/yaml-cpp|^libyaml-cpp"
  "BLAS|BSD-3-Clause|https://www.netlib.org/blas|^lib(open)?blas"
  "LAPACK|BSD-3-Clause|https://www.netlib.org/lapack|^liblapack"
  "Open MPI|BSD-3-Clause|https://www.open-mpi.org|^libmpi"
  "NCCL|BSD-3-Clause|https://github.com/NVIDIA/nccl|^libnccl"
  "CUDA runtime|LicenseRef-NVIDIA-CUDA|https://docs.nvidia.com/cuda/eula|^lib(cu|nv)"
  "GCC runtime|GPL-3.0-or-later WITH GCC-exception-3.1|https://gcc.gnu.org|^lib(stdc[+][+]|gcc_s|gomp|atomic)[.]"
  "LLVM runtime|Apache-2.0 WITH LLVM-exception|https://llvm.org|^lib(omp|c[+][+]|c[+][+]abi|unwind)[.]"
  "glibc|LGPL-2.1-or-later|https://sourceware.org/glibc|^(lib(c|m|dl|rt|pthread)[.]|ld-linux)"
  "faiss|MIT|https://github.com/facebookresearch/faiss|^libfaiss"
  "gloo|BSD-3-Clause|https://github.com/facebookincubator/gloo|^libgloo"
  "nlohmann-json|MIT|https://github.com/nlohmann/json|^no library"
  "CLI11|BSD-3-Clause|https://github.com/CLIUtils/CLI11|^no library"
  "Boost|BSL-1.0|https://www.boost.org|^no library")

find_program(DPKG_QUERY dpkg-query)
set(system linux)
if(EXISTS /etc/os-release)
  file(STRINGS /etc/os-release system REGEX "^ID=")
  string(REGEX REPLACE "^ID=\"?([a-z0-9._-]+)\"?.*" "\\1" system "${system}")
endif()

# The Debian package of a file and its version; empty where there is none.
function(find_package_of file out_name out_version)
  set(${out_name} "" PARENT_SCOPE)
  set(${out_version} "" PARENT_SCOPE)
  if(NOT DPKG_QUERY)
    return()
  endif()
  file(REAL_PATH ${file} real)
  # Packages may know a file of /usr/lib by its old name in /lib.
  string(REGEX REPLACE "^/usr/lib/" "/lib/" old ${real})
  foreach(path ${real} ${old})
    execute_process(COMMAND ${DPKG_QUERY} -S ${path}
      OUTPUT_VARIABLE found RESULT_VARIABLE failed ERROR_QUIET)
    if(NOT failed)
      string(REGEX REPLACE "^([^:]+).*" "\\1" name "${found}")
      string(REGEX REPLACE "^([^ ]+): .*" "\\1" asked "${found}")
      execute_process(COMMAND ${DPKG_QUERY} -W -f "\${Version}" ${asked}
        OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
      set(${out_name} ${name} PARENT_SCOPE)
      set(${out_version} ${version} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# The libraries of kith itself need no bill.
string(REPLACE "," ";" FILES "${FILES}")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  list(APPEND own ${name})
endforeach()

# add(NAME VERSION USE KIND LICENCE HOME FILE): to `entries`. KIND/VERSION is what
# scanners know it by.
function(add name version use kind licence home files)
  string(TOLOWER "pkg:${kind}" purl)
  if(version)
    string(REPLACE ":" "%3A" escaped "${version}")
    string(APPEND purl "@${escaped}")
  endif()
  string(REPLACE "+" "%2B" purl "${purl}")
  set(entry "    {\"type\": \"library\", \"bom-ref\": \"${name}/${files}\",
     \"name\": \"${name}\"")
  if(version)
    string(APPEND entry ", \"version\": \"${version}\"")
  endif()
  string(APPEND entry ",\n     \"purl\": \"${purl}\"")
  if(licence)
    string(APPEND entry ",\n     \"licenses\": [{\"expression\": \"${licence}\"}]")
  endif()
  if(home)
    string(APPEND entry ",\n     \"externalReferences\": [{\"type\": \"website\", "
      "\"url\": \"${home}\"}]")
  endif()
  string(APPEND entry ",\n     \"properties\": [{\"name\": \"kith:use\", "
    "\"value\": \"${use}\"}, {\"name\": \"kith:file\", \"value\": \"${files}\"}]}")
  list(APPEND entries "${entry}")
  list(APPEND refs "    \"${name}/${files}\"")
  set(entries "${entries}" PARENT_SCOPE)
  set(refs "${refs}" PARENT_SCOPE)
endfunction()

# The line of `known` for a library, or for a name of it.
function(look_up name out_name out_licence out_home)
  foreach(line IN LISTS known)
    string(REGEX MATCH "^([^|]+)[|]([^|]+)[|]([^|]+)[|](.+)$" line "${line}")
    set(is "${CMAKE_MATCH_1}")
    set(licence "${CMAKE_MATCH_2}")
    set(home "${CMAKE_MATCH_3}")
    if(name STREQUAL is OR name MATCHES "${CMAKE_MATCH_4}")
      set(${out_name} "${is}" PARENT_SCOPE)
      set(${out_licence} "${licence}" PARENT_SCOPE)
      set(${out_home} "${home}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${out_name} "${name}" PARENT_SCOPE)
  set(${out_licence} "" PARENT_SCOPE)
  set(${out_home} "" PARENT_SCOPE)
endfunction()

# What the files name, and where the loader finds it.
foreach(file IN LISTS FILES)
  execute_process(COMMAND ${READELF} -d ${file} OUTPUT_VARIABLE dynamic
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ldd ${file} OUTPUT_VARIABLE found ERROR_QUIET)
  string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*" lines "${dynamic}")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*\\[(.+)\\]" "\\1" library "${line}")
    if(library IN_LIST own)
      continue()
    endif()
    list(APPEND libraries ${library})
    string(REGEX REPLACE "[+.]" "[\\0]" pattern "${library}")
    if("${found}" MATCHES "${pattern} => (/[^ \n]+)"
        OR "${found}" MATCHES "(/[^ \n]*/${pattern}) ")
      set("path_${library}" ${CMAKE_MATCH_1})
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES libraries)
list(SORT libraries)

foreach(library IN LISTS libraries)
  look_up(${library} name licence home)
  set(path "${path_${library}}")
  set(package "")
  set(version "")
  if(path)
    find_package_of(${path} package version)
  endif()
  if(package)
    set(kind "deb/${system}/${package}")
  else()
    if(name STREQUAL "LibTorch")
      set(version "${TORCH}")
    elseif(path)
      file(REAL_PATH ${path} real)
      string(REGEX MATCH "[.]so[.]([0-9.]+)$" number "${real}")
      set(version "${CMAKE_MATCH_1}")
    endif()
    string(REPLACE " " "-" package "${name}")
    set(kind "generic/${package}")
  endif()
  add("${name}" "${version}" linked "${kind}" "${licence}" "${home}" ${library})
endforeach()

string(REPLACE "," ";" INSIDE "${INSIDE}")
foreach(part IN LISTS INSIDE)
  string(REGEX MATCH "^([^@]+)@(.*)$" part "${part}")
  set(version "${CMAKE_MATCH_2}")
  set(part "${CMAKE_MATCH_1}")
  set(kind "generic/${part}")
  if(version MATCHES "^/")
    find_package_of(${version} package version)
    if(package)
      set(kind "deb/${system}/${package}")
    endif()
  endif()
  look_up(${part} name licence home)
  add("${name}" "${version}" "compiled in" "${kind}" "${licence}" "${home}" "")
endforeach()

list(JOIN entries ",\n" entries)
list(JOIN refs ",\n" refs)
file(WRITE ${OUT} "{\"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.5\", \"version\": 1,
 \"metadata\": {\"component\": {\"type\": \"application\", \"bom-ref\": \"kith\",
   \"name\": \"kith\", \"version\": \"${VERSION}\",
   \"purl\": \"pkg:generic/kith@${VERSION}\",
   \"licenses\": [{\"expression\": \"Apache-2.0\"}]}},
 \"components\": [
${entries}
 ],
 \"dependencies\": [{\"ref\": \"kith\", \"dependsOn\": [
${refs}
 ]}]
}
")
