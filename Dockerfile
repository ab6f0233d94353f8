# An image in which a project is ready: docker run --rm -v ease:/project/data IMAGE kedro run
# It contains polyglot, which is under the GPLv3: NOTICE says what that means for those who distribute the image.
FROM python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b AS build

# PyICU is compiled: it needs ICU's headers, pkg-config and a compiler.
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ libicu-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE NOTICE ./
COPY conf conf
COPY src src
# Such as the address of PyTorch's CPU wheels; by default pip installs torch with CUDA.
ARG PIP_EXTRA_INDEX_URL=""
RUN python -m venv /opt/ease \
    && /opt/ease/bin/pip install --no-cache-dir -c constraints.txt '.[project]'

FROM python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 libicu72 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 ease \
    && install -d -o ease /project
COPY --from=build /opt/ease /opt/ease
# The image's Python comes without its library's bytecode, and the user may not write it: each start would compile it.
RUN python -m compileall -qq -j 0 /usr/local/lib/python3.11 /opt/ease/lib || true
ENV PATH=/opt/ease/bin:$PATH DO_NOT_TRACK=true MLFLOW_DISABLE_TELEMETRY=true
USER 1000
WORKDIR /project
RUN ease-project .
CMD ["kedro", "run"]
