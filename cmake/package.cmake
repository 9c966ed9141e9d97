# `make package`: a .deb and a tarball of what cmake/install.cmake installs.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME vitrine)
set(CPACK_PACKAGE_VENDOR "Vitrine")
set(CPACK_PACKAGE_CONTACT "Vitrine developers <vitrine@packages.invalid>" CACHE STRING "maintainer of the .deb")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "transformers for images and sequences, without Python")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package_generator.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Vitrine builds, trains, compares, explains and serves transformers for images
and sequences: ViT, DeiT, Swin, PVT, CvT, CCT and others, beside ResNets. It is
one native program over LibTorch, with labs on attention and recipes.
.
The package also holds the C++ library with its headers.")
# Of programs and libraries dpkg-shlibdeps finds what they need; these are run, or read, by name.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
# The OpenMP build of OpenBLAS shares its threads with torch (docs/dependencies.md).
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libopenblas0-openmp, gnuplot-nox, fonts-dejavu-core")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates, fonts-noto-cjk")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "dataset-fashion-mnist, npm, openssh-client, libtorch-dev, libfmt-dev")

include(CPack)
