"""The callback endpoint: POST /callbacks/{channel_id}. It bounds the body and hands on the raw bytes."""

import time

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from shortdrama_pipeline.services.callbacks import BODY_BYTES_MAX, receive
from shortdrama_pipeline.services.context import Studio


def callback_routes(studio: Studio) -> list[Route]:
    """The route, to be mounted in whatever application serves the studio."""

    async def endpoint(request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_BYTES_MAX:
                return Response(status_code=413)
        received = await run_in_threadpool(
            receive,
            studio,
            request.path_params["channel_id"],
            headers=dict(request.headers),
            raw_body=bytes(body),
            now_s=int(time.time()),
        )
        return Response(status_code=received.status)

    return [Route("/callbacks/{channel_id}", endpoint, methods=["POST"])]


def callback_app(studio: Studio) -> Starlette:
    """An application of its own, for a process that does nothing else."""
    return Starlette(routes=callback_routes(studio))
