# syntax=docker/dockerfile:1
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS build
# For builds without the public index, or behind a proxy with a certificate of its own; pip takes
# them from the environment and passes over those that are empty.
ARG PIP_NO_INDEX=
ARG PIP_FIND_LINKS=
ARG PIP_CERT=
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# A virtual environment, for a base whose Python belongs to its distribution lets pip install nothing.
RUN python3 -m venv /opt/venv
COPY requirements/operator.lock /src/requirements/operator.lock
RUN /opt/venv/bin/pip install --require-hashes -r /src/requirements/operator.lock
COPY pyproject.toml README.md LICENSE /src/
COPY operator /src/operator
RUN /opt/venv/bin/pip install --no-deps /src \
    && /opt/venv/bin/pip uninstall --yes setuptools pip

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="gpu-triage" \
      org.opencontainers.image.description="Says in one word why a pod that asks for GPUs is not running" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/venv /opt/venv
# The user has no entry in /etc/passwd; Python asks for a name all the same.
ENV LOGNAME=gpu-triage \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/opt/venv/bin/gpu-triage-operator"]
