# syntax=docker/dockerfile:1
# The operator's image. Any base with Python 3.11 or newer at `python3` will do:
#
#   docker build --build-arg VERSION=0.1.0 --build-arg REVISION=$(git rev-parse HEAD) -t gpu-triage:0.1.0 .
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS build
# For builds without the public index, or behind a proxy with a certificate of its own; pip takes
# them from the environment and passes over those that are empty.
ARG PIP_NO_INDEX=
ARG PIP_FIND_LINKS=
ARG PIP_CERT=
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# What installs and builds lives apart, so that nothing of it is shipped. Both are virtual
# environments, for a base whose Python belongs to its distribution lets pip install nothing.
RUN python3 -m venv /opt/build \
    && python3 -m venv --without-pip /opt/venv
COPY requirements/build.lock requirements/operator.lock /src/requirements/
RUN /opt/build/bin/pip install --require-hashes --only-binary :all: -r /src/requirements/build.lock \
    && /opt/build/bin/pip --python /opt/venv/bin/python install \
       --require-hashes --only-binary :all: -r /src/requirements/operator.lock
COPY pyproject.toml README.md LICENSE /src/
COPY operator /src/operator
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /src/dist /src \
    && /opt/build/bin/pip --python /opt/venv/bin/python install --no-deps --no-index /src/dist/*.whl

FROM ${BASE_IMAGE}
ARG BASE_IMAGE
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="gpu-triage" \
      org.opencontainers.image.description="Says in one word why a pod that asks for GPUs is not running" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
COPY --from=build /opt/venv /opt/venv
# The user has no entry in /etc/passwd; Python asks for a name all the same. Nothing is written at
# run time: the root may be read-only.
ENV LOGNAME=gpu-triage \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/opt/venv/bin/gpu-triage-operator"]
