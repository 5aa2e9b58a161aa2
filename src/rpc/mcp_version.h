/* The versions of MCP that both of its sides have to know: the client and the server. */
#pragma once

#define IK_MCP_MODERN "2026-07-28" /* of the modern era, which has no handshake */
