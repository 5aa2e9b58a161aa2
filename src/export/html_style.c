#include "export/html_style.h"

#include <sha2.h>
#include <string.h>

#include "base/base64.h"

#define COLOURS_LIGHT                                                                              \
    "--paper:#fdfcfa;--ink:#1f2328;--quiet:#59616b;--line:#e2ded6;--field:#f5f2ec;"                \
    "--accent:#0b6b63;--words:#eaf3f1;--good:#14703a;--bad:#b3261e;--open:#8a5a00;"                \
    "--add:#dcf3e2;--add-ink:#0a5228;--del:#fbe3e0;--del-ink:#861a12;"                             \
    "--keyword:#8f1d63;--string:#0a5f38;--number:#874a00;--comment:#5d6570;--name:#0b4f8a;"
#define COLOURS_DARK                                                                               \
    "--paper:#15171a;--ink:#e4e7eb;--quiet:#a0a9b4;--line:#31363d;--field:#1d2024;"                \
    "--accent:#6fd3c5;--words:#1a2829;--good:#7fd69b;--bad:#ff9a91;--open:#f0c070;"                \
    "--add:#14331f;--add-ink:#a5e6b8;--del:#3d1c1b;--del-ink:#f5b3ac;"                             \
    "--keyword:#ee9fd3;--string:#98d8a8;--number:#f2b774;--comment:#98a2ad;--name:#8fc2f7;"

const char ik_html_style[] =
    "\n:root{color-scheme:light dark;" COLOURS_LIGHT "}\n"
    "@media (prefers-color-scheme:dark){:root{" COLOURS_DARK "}}\n"
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%;text-size-adjust:100%;scroll-behavior:smooth}\n"
    "body{margin:0 auto;padding:0 1.25rem 3rem;max-width:54rem;background:var(--paper);"
    "color:var(--ink);font:1rem/1.65 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\","
    "\"DejaVu Sans\",sans-serif;overflow-wrap:anywhere}\n"
    "code,pre,.call,.mono{font-family:ui-monospace,\"SF Mono\",Menlo,Consolas,\"Noto Sans Mono\","
    "\"DejaVu Sans Mono\",monospace}\n"
    "a{color:var(--accent);text-underline-offset:.15em}\n"
    "time,.quiet{color:var(--quiet)}\n"
    /* what could not be seen */
    ".u{padding:0 .3em;border-radius:.3em;background:var(--bad);color:var(--paper);"
    "font:600 .75em/1.5 ui-monospace,monospace;white-space:nowrap}\n"

    "header{padding:3rem 0 1.5rem;border-bottom:1px solid var(--line)}\n"
    ".brand{margin:0 0 .5rem;color:var(--accent);font-size:.8rem;font-weight:600;"
    "letter-spacing:.08em;text-transform:uppercase}\n"
    "h1{margin:0 0 1.25rem;font-size:1.8rem;line-height:1.25;letter-spacing:-.01em;"
    "text-wrap:balance}\n"
    ".facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(12rem,1fr));"
    "gap:.75rem 1.5rem;margin:0}\n"
    ".facts dt{color:var(--quiet);font-size:.75rem}\n"
    ".facts dd{margin:0;font-size:.9rem}\n"
    ".facts code{font-size:.85rem}\n"
    "nav{margin:1.5rem 0 0;font-size:.9rem}\n"
    "nav ul{margin:.25rem 0 0;padding-left:1.2rem}\n"

    "h2{margin:3.5rem 0 .25rem;padding-top:1.5rem;border-top:2px solid var(--line);"
    "font-size:1.35rem}\n"
    ".agent:first-child>h2{margin-top:1.5rem;padding-top:0;border-top:0}\n"
    "h2+p{margin:0 0 1rem;color:var(--quiet);font-size:.9rem}\n"
    ".turn{margin-top:2.5rem}\n"
    "h3{display:flex;flex-wrap:wrap;align-items:baseline;gap:.25rem .6rem;margin:0 0 .5rem;"
    "font-size:.85rem;font-weight:600}\n"
    "h3 a{color:inherit;text-decoration:none}\n"
    "h3 a:hover{text-decoration:underline}\n"
    "h3 time{font-weight:400;font-size:.8rem}\n"
    ".words{padding:.9rem 1.1rem;border-left:3px solid var(--accent);"
    "border-radius:.25rem .75rem .75rem .25rem;background:var(--words);white-space:pre-wrap}\n"
    ".answer{margin:1.4rem 0}\n"
    ".as-is{white-space:pre-wrap}\n"
    ".small{margin:.5rem 0 0;color:var(--quiet);font-size:.78rem}\n"
    ".small .sep{margin:0 .45em}\n"
    ".note{margin:1.25rem 0;padding:.5rem .9rem;border:1px dashed var(--line);"
    "border-radius:.5rem;color:var(--quiet);font-size:.85rem}\n"
    ".cut{margin:.4rem 0 0;color:var(--open);font-size:.8rem}\n"

    /* an answer */
    ".md{overflow-x:auto}\n"
    ".md>:first-child{margin-top:0}\n"
    ".md>:last-child{margin-bottom:0}\n"
    ".md p,.md ul,.md ol,.md blockquote,.md pre,.md .wide{margin:0 0 .9rem}\n"
    ".md li p{margin:.25rem 0}\n"
    ".md ul,.md ol{padding-left:1.6rem}\n"
    ".md li ul,.md li ol{margin-bottom:0}\n"
    ".md h4,.md h5,.md h6{margin:1.5rem 0 .5rem;line-height:1.3}\n"
    ".md h4{font-size:1.25rem}\n"
    ".md h5{font-size:1.1rem}\n"
    ".md h6{font-size:1rem}\n"
    ".md blockquote{padding-left:1rem;border-left:3px solid var(--line);color:var(--quiet)}\n"
    ".md hr{margin:1.5rem 0;border:0;border-top:1px solid var(--line)}\n"
    ".md .task{margin-left:-1.2rem;list-style:none}\n"
    ".md .image::before{content:\"\\1F5BC\\FE0E  \"}\n"
    ".target{color:var(--quiet);font-size:.9em}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:.92rem;overflow-wrap:normal}\n"
    "th,td{padding:.35rem .8rem;border-bottom:1px solid var(--line);text-align:left;"
    "vertical-align:top}\n"
    "th{border-bottom-width:2px}\n"
    ".center{text-align:center}\n"
    ".right{text-align:right}\n"

    /* code */
    "pre{margin:0;padding:.75rem 1rem;overflow:auto;max-height:36rem;border:1px solid var(--line);"
    "border-radius:.5rem;background:var(--field);font-size:.82rem;line-height:1.55;"
    "overflow-wrap:normal;tab-size:4}\n"
    "pre code{display:block;width:max-content;min-width:100%}\n"
    ":not(pre)>code{padding:.1em .35em;border-radius:.3em;background:var(--field);"
    "font-size:.88em}\n"
    ".k{color:var(--keyword)}\n"
    ".s{color:var(--string)}\n"
    ".n{color:var(--number)}\n"
    ".c{color:var(--comment);font-style:italic}\n"
    ".p{color:var(--name)}\n"
    ".l{display:block;margin:0 -1rem;padding:0 1rem}\n"
    ".add{background:var(--add);color:var(--add-ink)}\n"
    ".del{background:var(--del);color:var(--del-ink)}\n"
    ".l mark{background:none;color:inherit;font-weight:600;text-decoration:underline}\n"
    ".hunk{color:var(--name)}\n"
    ".file{color:var(--quiet);font-weight:600}\n"

    /* what is folded */
    "details{margin:.5rem 0}\n"
    "summary{cursor:pointer;list-style:none}\n"
    "summary::-webkit-details-marker{display:none}\n"
    "summary:focus-visible{outline:2px solid var(--accent);outline-offset:2px}\n"
    ".aside>summary{color:var(--quiet);font-size:.85rem}\n"
    ".aside>summary::before{content:\"\\25B8\";display:inline-block;width:1.1em}\n"
    ".aside[open]>summary::before{content:\"\\25BE\"}\n"
    ".aside>.body{margin:.4rem 0 1rem;padding-left:1rem;border-left:2px solid var(--line);"
    "color:var(--quiet);font-size:.92rem}\n"
    ".tool{border:1px solid var(--line);border-radius:.5rem}\n"
    ".tool>summary{display:flex;align-items:baseline;gap:.6rem;padding:.45rem .8rem;"
    "font-size:.82rem}\n"
    ".tool>summary:hover{background:var(--field);border-radius:.5rem}\n"
    ".tool[open]>summary{border-bottom:1px solid var(--line)}\n"
    ".state{flex:none;width:1em;font-weight:700;text-align:center}\n"
    ".ok .state{color:var(--good)}\n"
    ".failed .state{color:var(--bad)}\n"
    ".lost .state{color:var(--open)}\n"
    ".call{flex:1 1 auto;min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}\n"
    ".outcome{flex:none;max-width:40%;overflow:hidden;color:var(--quiet);"
    "text-overflow:ellipsis;white-space:nowrap}\n"
    ".failed .outcome{color:var(--bad)}\n"
    ".took{flex:none;color:var(--quiet);font-variant-numeric:tabular-nums}\n"
    ".tool>summary::after{content:\"\\25B8\";flex:none;width:1em;color:var(--quiet)}\n"
    ".tool[open]>summary::after{content:\"\\25BE\"}\n"
    ".call,.outcome,.u{unicode-bidi:isolate}\n"
    ".words,.as-is,.md p,.md li{unicode-bidi:plaintext}\n"
    ".tool>.body{padding:.75rem .8rem}\n"
    ".part{margin:0 0 .75rem}\n"
    ".part:last-child{margin-bottom:0}\n"
    ".label{margin:0 0 .25rem;color:var(--quiet);font-size:.75rem}\n"
    ".result:not(:first-child){margin-top:.9rem;padding-top:.9rem;"
    "border-top:1px dashed var(--line)}\n"
    ".result>.fields:last-child{margin:0}\n"
    ".fields{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.15rem .9rem;"
    "margin:0 0 .75rem;font-size:.82rem}\n"
    ".fields dt{color:var(--quiet)}\n"
    ".fields dd{margin:0}\n"
    ":target{scroll-margin-top:1rem;outline:2px solid var(--accent);outline-offset:4px;"
    "border-radius:.25rem}\n"
    "figure{margin:.75rem 0}\n"
    "img{max-width:100%;height:auto;border:1px solid var(--line);border-radius:.25rem}\n"
    "figcaption{color:var(--quiet);font-size:.8rem}\n"
    "footer{margin-top:4rem;padding-top:1rem;border-top:1px solid var(--line);"
    "color:var(--quiet);font-size:.8rem}\n"

    "@media (max-width:36rem){\n"
    "body{padding:0 .9rem 2rem}\n"
    "header{padding-top:1.75rem}\n"
    "h1{font-size:1.4rem}\n"
    ".facts{grid-template-columns:repeat(auto-fill,minmax(9rem,1fr))}\n"
    ".tool>summary{flex-wrap:wrap;gap:.1rem .6rem}\n"
    ".call{flex-basis:calc(100% - 5rem)}\n"
    ".tool>summary::after{order:1}\n"
    ".outcome,.took{order:2}\n"
    ".outcome{max-width:70%;margin-left:1.6em}\n"
    ".fields{grid-template-columns:1fr}\n"
    ".fields dd{margin-bottom:.3rem}\n"
    "}\n"
    "@media print{\n"
    ":root{color-scheme:light;" COLOURS_LIGHT "}\n"
    "body{max-width:none;padding:0;font-size:10pt}\n"
    "pre{max-height:none;white-space:pre-wrap;overflow-wrap:anywhere}\n"
    "pre code{width:auto}\n"
    "details::details-content{content-visibility:visible;block-size:auto}\n"
    "h2,h3,.label,summary{break-after:avoid}\n"
    "}\n";

void ik_html_style_append_policy(ik_buffer_t *out)
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA2_CTX state;
    SHA256Init(&state);
    SHA256Update(&state, (const uint8_t *)ik_html_style, strlen(ik_html_style));
    SHA256Final(digest, &state);
    ik_buffer_append_text(out, "default-src 'none'; img-src data:; style-src 'sha256-");
    ik_base64_append(out, digest, sizeof(digest));
    ik_buffer_append_text(out, "'; base-uri 'none'; form-action 'none'");
}
