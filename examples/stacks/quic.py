"""A server and a client over QUIC, with aioquic: the client asks for so many bytes and waits until it has them.

Run as ``quic.py server ADDRESS PORT --certificate FILE --key FILE`` and ``quic.py client ADDRESS PORT --bytes NUMBER``.
"""

from __future__ import annotations

import argparse
import asyncio
import ssl

from aioquic.asyncio import connect, serve
from aioquic.quic.configuration import QuicConfiguration

ALPN = ["bytes"]
MOST = 200_000_000
"""The server answers from memory, with no more than this."""


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends as many bytes as were asked for."""
    writer.write(bytes(min(int(await reader.read()), MOST)))
    writer.write_eof()


async def run_server(arguments: argparse.Namespace) -> None:
    """Answers until it is ended."""
    configuration = QuicConfiguration(is_client=False, alpn_protocols=ALPN)
    configuration.load_cert_chain(arguments.certificate, arguments.key)
    answers: set[asyncio.Task[None]] = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The loop itself does not keep its tasks.
        answers.add(asyncio.ensure_future(answer(reader, writer)))

    await serve(arguments.address, arguments.port, configuration=configuration, stream_handler=begin)
    await asyncio.Event().wait()


async def run_client(arguments: argparse.Namespace) -> None:
    """Asks once, and reads all."""
    # Nobody but the two is on the path.
    configuration = QuicConfiguration(alpn_protocols=ALPN, verify_mode=ssl.CERT_NONE)
    async with connect(arguments.address, arguments.port, configuration=configuration) as connection:
        reader, writer = await connection.create_stream()
        writer.write(str(arguments.bytes).encode())
        writer.write_eof()
        got = 0
        while piece := await reader.read(1 << 16):
            got += len(piece)
    if got != arguments.bytes:
        raise SystemExit(f"{got} of {arguments.bytes} bytes have come")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    roles = parser.add_subparsers(required=True)
    server, client = roles.add_parser("server"), roles.add_parser("client")
    for role, run in ((server, run_server), (client, run_client)):
        role.add_argument("address")
        role.add_argument("port", type=int)
        role.set_defaults(run=run)
    server.add_argument("--certificate", required=True)
    server.add_argument("--key", required=True)
    client.add_argument("--bytes", type=int, required=True)
    arguments = parser.parse_args()
    asyncio.run(arguments.run(arguments))


if __name__ == "__main__":
    main()
