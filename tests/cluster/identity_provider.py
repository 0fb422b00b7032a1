#!/usr/bin/env python3
"""An identity provider (OpenID Connect) for tests of web identities: one key, made with openssl, and what it says of itself.

  identity_provider.py DIRECTORY   writes the token DIRECTORY/token (for the audience "weft", good for an hour), listens on a free port of
                                   loopback, prints it, and runs until it is killed"""
import base64
import json
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer


def openssl(*arguments, **options):
    return subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options).stdout


def coded(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=").decode()


def main():
    key = sys.argv[1] + "/key"
    openssl("genrsa", "-traditional", "-out", key, "2048")
    modulus = bytes.fromhex(openssl("rsa", "-in", key, "-noout", "-modulus").decode().strip().split("=")[1])
    server = HTTPServer(("127.0.0.1", 0), Handler)
    Handler.issuer = "http://127.0.0.1:%d" % server.server_address[1]
    Handler.keys = {"keys": [{"kty": "RSA", "kid": "1", "use": "sig", "alg": "RS256", "n": coded(modulus), "e": "AQAB"}]}
    now = int(time.time())
    claims = {"iss": Handler.issuer, "aud": "weft", "azp": "weft", "sub": "system:serviceaccount:default:weft", "iat": now, "exp": now + 3600}
    signed = coded({"alg": "RS256", "typ": "JWT", "kid": "1"}) + "." + coded(claims)
    signature = openssl("dgst", "-sha256", "-sign", key, input=signed.encode())
    with open(sys.argv[1] + "/token", "w", encoding="ascii") as file:
        file.write(signed + "." + coded(signature))
    print(server.server_address[1], flush=True)
    server.serve_forever()


class Handler(BaseHTTPRequestHandler):
    issuer = ""
    keys = {}

    def do_GET(self):
        about = {"issuer": self.issuer, "jwks_uri": self.issuer + "/keys", "authorization_endpoint": self.issuer + "/none",
                 "token_endpoint": self.issuer + "/none", "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
                 "id_token_signing_alg_values_supported": ["RS256"]}
        body = json.dumps(self.keys if self.path == "/keys" else about).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


main()
